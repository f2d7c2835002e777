"""What pickles of fitted models take, on the data that come with scikit-learn.

python -m validation.pickle_sizes --data DIR [--output FILE]
"""

from __future__ import annotations

import pickle

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from validation._common import Page, parse, parser_for, table

ABOUT = """\
Data that come with scikit-learn, default parameters. *compact()* is the copy that predicts and no more, to
save for a service; the aim was at most 1.5 times the bytes of an `SVC`. `link="kwok"` reads more of the
training rows and needs more."""


def sizes_table() -> str:
    """Bytes of the pickles."""
    rows = []
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        raw, y = load(return_X_y=True)
        for kind, X in (("as it is", raw), ("standardised", scale(raw))):
            ours = BayesSVC().fit(X, y)
            sizes = [len(pickle.dumps(one)) for one in (SVC().fit(X, y), ours, ours.compact())]
            name = load.__name__.removeprefix("load_").replace("_", " ")
            rows.append(
                [f"{name}, {kind}", *(f"{size:,}" for size in sizes), f"**{sizes[2] / sizes[0]:.2f}**"]
            )
    return table(("data", "SVC, bytes", "BayesSVC", "its compact()", "compact() / SVC"), rows)


def main() -> None:
    """Print the page."""
    args = parse(parser_for(__doc__.splitlines()[0]))
    page = Page("validation.pickle_sizes", "How large a saved model is", ABOUT)
    page.add(sizes_table())
    page.finish(args.output)


if __name__ == "__main__":
    main()
