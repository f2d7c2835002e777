"""What pickles of fitted models take, on the data that come with scikit-learn and on easy ones that it makes.

python -m validation.pickle_sizes --data DIR [--output FILE]
"""

from __future__ import annotations

import pickle
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
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from validation._common import Page, parse, parser_for, table

ABOUT = """\
Default parameters. *compact()* is the copy that predicts and no more, to save for a service; the aim was at
most 1.5 times the bytes of an `SVC`. It is missed where classes are so far apart that `SVC` keeps few rows:
the link reads all rows near the margin, to tell how far from the data a new row is. `link="kwok"` reads more
of them than the default, and needs more still."""


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


def main() -> None:
    """Print the page."""
    args = parse(parser_for(__doc__.splitlines()[0]))
    page = Page("validation.pickle_sizes", "How large a saved model is", ABOUT)
    page.add(sizes_table())
    page.finish(args.output)


if __name__ == "__main__":
    main()
