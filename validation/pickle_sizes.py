"""What pickles of fitted models take, on the data that come with scikit-learn and on easy ones that it makes.

python -m validation.pickle_sizes --data DIR [--output FILE]
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_classification,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from validation._common import Page, parse, parser_for, table

ABOUT = """\
*compact()* is the copy that predicts and no more, to save for a service; the aim is at most 1.5 times the
bytes of an `SVC`. First default parameters, except where others are named; then many easy problems, of which
an `SVC` keeps few rows: {most} draws of Gaussian clusters, one for each class, with 2 to 8 classes, 1 to 30
columns, 60 to 800 rows, different spread, and C from 0.1 to 100. No choice was made on these draws. With
three classes or more `BayesSVC` trains a machine for each class, and `SVC` one for each pair. A class in the
midst of others can need many more support vectors against all of them than against each. A linear machine
keeps the weights of the features instead. Of `link="kwok"` the posterior reads all rows near the margin,
which on easy data are most rows; an `SVC` has no posterior."""

FIRST, DRAWS, AIM = 1000, 400, 1.5
MANY = {
    **{name: {"kernel": name} for name in ("rbf", "linear", "poly", "sigmoid")},
    'rbf, link="kwok"': {"kernel": "rbf", "link": "kwok"},
}


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray, dict[str, str]]]:
    """Name, X and y of each problem, and the parameters that are not the defaults."""
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        name = load.__name__.removeprefix("load_").replace("_", " ")
        yield f"{name}, as it is", X, y, {}
        yield f"{name}, standardised", scale(X), y, {}
    X, y = load_iris(return_X_y=True)
    yield "iris, the two columns of the petals", X[:, 2:], y, {}
    yield "three blobs, 100 rows", *make_blobs(random_state=0), {}
    yield "two circles, 100 rows", *make_circles(random_state=0, noise=0.05, factor=0.5), {}
    apart = {"n_features": 4, "n_informative": 3, "n_redundant": 0, "n_classes": 3, "n_clusters_per_class": 1}
    yield (
        "three classes far apart, 340 rows",
        *make_classification(340, **apart, class_sep=3.0, random_state=0),
        {},
    )
    yield 'two moons, 500 rows, link="kwok"', *make_moons(500, noise=0.2, random_state=0), {"link": "kwok"}


def sizes_table() -> str:
    """Bytes of the pickles."""
    rows = []
    for name, X, y, more in problems():
        ours = BayesSVC(**more).fit(X, y)
        sizes = [len(pickle.dumps(one)) for one in (SVC().fit(X, y), ours, ours.compact())]
        rows.append([name, *(f"{size:,}" for size in sizes), f"**{sizes[2] / sizes[0]:.2f}**"])
    return table(("data", "SVC, bytes", "BayesSVC", "its compact()", "compact() / SVC"), rows)


def easy(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """X and y of one of many easy problems, and C."""
    rng = np.random.default_rng(seed)
    n_classes, C = int(rng.choice([2, 3, 3, 4, 5, 6, 8])), float(rng.choice([0.1, 1.0, 10.0, 100.0]))
    X, y = make_blobs(
        int(rng.choice([60, 100, 200, 400, 800])),
        n_features=int(rng.choice([1, 2, 3, 4, 6, 10, 30])),
        centers=n_classes,
        cluster_std=float(rng.choice([0.1, 0.3, 0.6, 1.0, 2.0])),
        random_state=seed,
    )
    return X, y, C


def ratios_table() -> str:
    """How much larger compact models are than an SVC."""
    rows = []
    for name, given in MANY.items():
        ratio, kernel = [], given["kernel"]
        for seed in range(FIRST, FIRST + DRAWS):
            X, y, C = easy(seed)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The decision values do not separate the classes")
                warnings.simplefilter("ignore", ConvergenceWarning)  # the sigmoid kernel
                ours = BayesSVC(C=C, **given).fit(X, y).compact()
            theirs = SVC(C=C, kernel=kernel).fit(X, y)
            ratio.append(len(pickle.dumps(ours)) / len(pickle.dumps(theirs)))
        more = sum(one > AIM for one in ratio)
        rows.append([name, *(f"{np.quantile(ratio, q):.2f}" for q in (0.5, 0.9, 1.0)), f"{more} of {DRAWS}"])
    return table(("kernel", "median", "90 %", "largest", f"above {AIM}"), rows)


def main() -> None:
    """Print the page."""
    args = parse(parser_for(__doc__.splitlines()[0]))
    page = Page("validation.pickle_sizes", "How large a saved model is", ABOUT.format(most=DRAWS))
    page.add(sizes_table())
    page.add("## Many easy problems\n\nBytes of compact() / bytes of an SVC:\n\n" + ratios_table())
    page.finish(args.output)


if __name__ == "__main__":
    main()
