"""How much probabilities change with the last digits of the data, the order of the columns, units, and names.

python -m validation.small_changes --data DIR [--output FILE]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
    make_moons,
)
from sklearn.preprocessing import scale

from bayes_svm import BayesSVC
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._sets import ida_split

ABOUT = """\
The largest change of a probability of `BayesSVC` where nothing has changed but noise of 1e-7 in every
feature, the order of the columns, the unit of all columns (times three; gamma = "scale" follows), or the
names of the classes.
{draws} draws of each, C = 1 and 10, standardised. *Rows* is at the training rows; *far* at twice and at
minus the rows. *Names*: the classes have others, which sort the other way round; strata are dealt class by
class, so that other rows leave together. The default link beside `link="sigmoid"`, whose changes are those of
the strata: of rows that are equal, or equally far from the mean, the last digits decide which leave together.
Sets of the IDA benchmark (training parts of the first split), the first 600 rows of those that come with
scikit-learn, and made ones, the last three with rows that are equal, or equally far from the mean."""

DRAWS, NOISE, PENALTIES = 2, 1e-7, (1.0, 10.0)


def sets(data: str, names: list[str]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, X and y."""
    for name in names:
        X, y, _, _ = ida_split(data, name, None, 0)
        yield name, X, y
    for load in (load_breast_cancer, load_wine, load_iris, load_digits):
        X, y = load(return_X_y=True)
        yield load.__name__.removeprefix("load_").replace("_", " "), scale(X[:600]), y[:600]
    X, y = make_classification(1000, random_state=0)
    yield "made, 20 columns", scale(X), y
    X, y = make_moons(800, noise=0.2, random_state=194)
    yield "moons", scale(X), y
    X, y = make_blobs(800, centers=2, n_features=5, cluster_std=3, random_state=591)
    yield "blobs", scale(X), y
    random = np.random.default_rng(0)
    X = (random.random((400, 10)) < 0.4).astype(float)
    yield "binary, 10 columns", X, (X[:, :3].sum(axis=1) + 0.7 * random.normal(size=400) > 1.2).astype(int)
    X = random.choice([-1.0, 1.0], (400, 8))
    yield "corners of a cube", X, (X[:, :3].sum(axis=1) + random.normal(size=400) > 0).astype(int)
    X = random.integers(0, 3, (400, 3)).astype(float)
    yield "a grid of 27 points", X, (X.sum(axis=1) + random.normal(size=400) > 3).astype(int)


def changes(random: np.random.Generator, X: np.ndarray) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """What may change, as functions of rows; the training rows, of the shape of X, get the noise."""
    order = random.permutation(X.shape[1])
    noise = NOISE * random.normal(size=X.shape)
    return {
        "noise": lambda rows: rows + noise if rows is X else rows,
        "columns": lambda rows: rows[:, order],
        "units": lambda rows: 3.0 * rows,
    }


def largest(X: np.ndarray, y: np.ndarray, link: str) -> dict[tuple[str, str], float]:
    """The largest change of a probability, by what changes and where."""
    at = np.vstack([X, 2.0 * X, -X])
    found: dict[tuple[str, str], float] = {}
    for C in PENALTIES:
        model = BayesSVC(C=C, link=link)
        expected = model.fit(X, y).predict_proba(at)
        random = np.random.default_rng(0)
        for _ in range(DRAWS):
            for what, changed in changes(random, X).items():
                off = np.abs(model.fit(changed(X), y).predict_proba(changed(at)) - expected).max(axis=1)
                _keep(found, what, off, len(X))
        renamed = model.fit(X, y.max() - y).predict_proba(at)[:, ::-1]
        _keep(found, "names", np.abs(renamed - expected).max(axis=1), len(X))
    return found


def _keep(found: dict[tuple[str, str], float], what: str, off: np.ndarray, n: int) -> None:
    """Raise the largest changes to those at the first n points and at the others."""
    for where, part in (("rows", off[:n]), ("far", off[n:])):
        found[what, where] = max(found.get((what, where), 0.0), float(part.max()))


def main() -> None:
    """Print the page."""
    args = parse(parser_for(__doc__.splitlines()[0]))
    page = Page(
        "validation.small_changes", "What small changes of the data change", ABOUT.format(draws=DRAWS)
    )
    rows = []
    for name, X, y in sets(args.data, args.sets):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The decision values do not separate the classes")
            default, sigmoid = (largest(X, y, link) for link in ("moderated", "sigmoid"))
        of_sigmoid = (
            max(v for (what, at), v in sigmoid.items() if at == where and what != "names")
            for where in ("rows", "far")
        )
        rows.append([name, len(X), *(f"{value:.3f}" for value in (*default.values(), *of_sigmoid))])
        say(f"{name}: done")
    head = [
        f"{what}, {where}" for what in ("noise", "columns", "units", "names") for where in ("rows", "far")
    ]
    page.add(table(("set", "rows", *head, "sigmoid, the first three, rows", "far"), rows))
    page.finish(args.output)


if __name__ == "__main__":
    main()
