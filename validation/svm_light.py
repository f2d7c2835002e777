"""Xi-alpha estimates beside those that an installed SVM-light prints."""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import xi_alpha
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._joachims import COLLECTIONS, read_collection
from validation.xi_alpha import C, weighted

ABOUT = """\
The estimates of `xi_alpha` and the ones that Joachims' own program prints (`svm_learn -c 0.5`; it
is not part of this project, `--program` names it), of the first random half of each collection of his
tables, in percent. Linear kernel, tf-idf of unit length, so that R_Δ² = 1. Where a document occurs twice the
solution is not unique: any division of the coefficient among the copies is one, and rho alpha + xi ≥ 1 asks
for each copy's own; `xi_alpha` divides equally, SVM-light as its last step left it. So both are compared on
all documents, and on the different ones only."""

TOLERANCES = ("0.001", "0.00001")
MEASURES = ("error", "recall", "precision")
PRINTED = re.compile(r"XiAlpha-estimate of the (\w+): \w+[<>=]+(-?nan|[\d.]+)%")


def printed(program: str, X: Any, y: np.ndarray, rho: float, tolerance: str) -> np.ndarray:
    """Error, recall and precision as the program prints them; NaN where no decision is positive."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "data", Path(folder) / "model"
        dump_svmlight_file(X, np.where(y, 1, -1), str(data), zero_based=False)
        command = [program, "-c", f"{C}", "-e", tolerance, "-o", f"{rho}", str(data), str(model)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = dict(PRINTED.findall(output))
    return np.array([float(found[measure]) for measure in MEASURES])


def ours(X: Any, y: np.ndarray, rho: float) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        found = xi_alpha(SVC(kernel="linear", C=C), X, y, rho=rho)
    return 100 * np.array([getattr(found, measure) for measure in MEASURES])


def different(X: Any) -> np.ndarray:
    """The first of each group of equal rows."""
    return np.sort(np.unique(X.toarray(), axis=0, return_index=True)[1])


def compare(args: argparse.Namespace, name: str) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of the table of all estimates, and of the largest differences."""
    texts, labels = read_collection(args.data, name)
    train = np.random.default_rng(0).permutation(len(texts))[: len(texts) // 2]
    X, _ = weighted(texts, train, train[:1])
    rows, largest = [], []
    for kept, documents in ((np.arange(len(train)), "all"), (different(X), "different")):
        gaps: dict[str, list[np.ndarray]] = {tolerance: [] for tolerance in TOLERANCES}
        for category, label in labels.items():
            for rho in (1.0, 2.0):
                y = label[train][kept]
                own = ours(X[kept], y, rho)
                theirs = [printed(args.program, X[kept], y, rho, tolerance) for tolerance in TOLERANCES]
                for tolerance, found in zip(TOLERANCES, theirs, strict=True):
                    gaps[tolerance].append(np.abs(own - found))
                cells = (f"{a:.2f} / {b:.2f}" for a, b in zip(own, theirs[0], strict=True))
                rows.append([name, documents, category, f"{rho:g}", *cells])
        for tolerance, found_gaps in gaps.items():
            cells = (f"{gap:.3f}" for gap in np.nanmax(found_gaps, axis=0))
            largest.append([name, f"{documents}, {len(kept)}", tolerance, str(len(found_gaps)), *cells])
            say(f"{largest[-1]}")
    return rows, largest


def agreement(largest: list[list[str]]) -> str:
    """What the agreement needs: the tolerance, and documents that differ."""
    worst = {
        tolerance: max(
            float(cell)
            for row in largest
            if row[2] == tolerance and row[1].startswith("different")
            for cell in row[4:]
        )
        for tolerance in TOLERANCES
    }
    loose, tight = (f"{worst[tolerance]:.3f}" for tolerance in TOLERANCES)
    return (
        f"Where no document occurs twice, the largest difference is {tight} at its tolerance {TOLERANCES[1]} "
        f"and {loose} at {TOLERANCES[0]}, its default."
    )


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--program", required=True, metavar="FILE", help="svm_learn of SVM-light 6")
    args = parse(parser)
    page = Page("validation.svm_light", "Xi-alpha beside SVM-light", ABOUT)
    rows, largest = [], []
    with threadpool_limits(1):
        for name in COLLECTIONS:
            parts = compare(args, name)
            rows += parts[0]
            largest += parts[1]
    page.add(
        "## Largest differences, percentage points",
        "SVM-light prints two digits: up to 0.005 is rounding. Where it prints NaN, no decision is positive. "
        + agreement(largest),
        table(("collection", "documents", "its tolerance", "estimates", *MEASURES), largest, left=2),
    )
    head = (
        "collection",
        "documents",
        "category",
        "ρ",
        *(f"{measure}: ours / theirs" for measure in MEASURES),
    )
    page.add("## All estimates, its tolerance 0.001", table(head, rows, left=3))
    page.finish(args.output)


if __name__ == "__main__":
    main()
