"""Leave-one-out by the path, against re-training: this package's, LIBSVM's, and an interior-point oracle."""

from __future__ import annotations

from joblib import Parallel, delayed

from validation._agreement import STATUSES, compare
from validation._common import KERNELS, Page, parse, parser_for, short, table
from validation._common import progress as say

ABOUT = """\
The leave-one-out decision values of `leave_one_out(..., method="path")` are compared, on the training
part of the first split of each set (standardised; rbf with gamma = 1/d, and linear), with:

* **re-training by this package** (`method="retrain"`): every remaining problem solved on its own from
  scratch, for **every row**;
* **re-training by LIBSVM** (`SVC` on the precomputed kernel matrix without the row, tol = 1e-10, without
  shrinking, with a limit on its iterations), for {sample}: the other rows change nothing when they leave;
* where these differ by more than 1e-5, **an interior-point method** in float64 that shares nothing with
  the package or LIBSVM, for the largest such differences.

A *sign* column counts rows whose two values have different signs. Rows flagged *unstable* are left out of
the differences and listed at the end. LIBSVM keeps kernel values in float32, so its own answers are not
exact however small tol is: beside each difference stands **the KKT residual of LIBSVM's own answer**,
recomputed in float64 and divided by the scale max(1, max |f|) of the decision values; the same number for
the ends of the paths, recomputed here from the coefficients and a kernel matrix of our own, is in the
first table."""

OWN_HEAD = (
    "set", "kernel", "C", "rows", "support vectors", "path", "unchanged", "re-trained", "unstable",
    "one-class", "inexact", "largest difference", "sign", "worst KKT residual of the path's ends",
)  # fmt: skip
LIBSVM_HEAD = (
    "set", "kernel", "C", "rows re-trained", "not converged", "largest difference",
    "the same, converged only", "sign", "LIBSVM's KKT residual there", "LIBSVM's worst KKT residual",
    "rows > 1e-5",
)  # fmt: skip
ORACLE_HEAD = (
    "set", "kernel", "C", "row", "path", "path to LIBSVM", "path to oracle", "LIBSVM to oracle",
    "oracle's gap",
)  # fmt: skip
UNSTABLE_HEAD = (
    "set", "kernel", "C", "row", "path", "re-trained", "lowest", "highest", "path - middle", "sign known",
)  # fmt: skip
UNSTABLE = """\
Without the row no coefficient of the remaining problem is strictly between its bounds. The coefficients
are then optimal together with **every** intercept of an interval, so the decision value of the row is any
number between *lowest* and *highest*; the package takes the middle, as LIBSVM does, and says "unstable".
*Sign known* says whether all of these numbers have one sign. At most {listed} rows of
each case are listed."""


def summary(cases: list[dict]) -> str:
    """The numbers to look at first."""
    own = max(cases, key=lambda case: case["own_difference"])
    unstable = [row for case in cases for row in case["unstable"]]
    lines = [
        "rows: " + ", ".join(f"{sum(case['counts'][name] for case in cases)} {name}" for name in STATUSES),
        f"largest |path - re-trained|, all rows: {short(own['own_difference'])} ({own['name']}, "
        f"{own['kernel']}, C = {own['C']:g}); sign disagreements: {total(cases, 'own_signs')}",
        f"worst KKT residual of the path's ends: {largest(cases, 'kkt')}; largest difference between a value "
        f"and the one recomputed from the coefficients: {largest(cases, 'recomputed')}",
        f"largest |path - LIBSVM|: {largest(cases, 'libsvm_difference')}, where LIBSVM converged "
        f"{largest(cases, 'converged_difference')}; above 1e-5 in {total(cases, 'n_far')} of "
        f"{total(cases, 'n_libsvm')} rows; sign disagreements: {total(cases, 'libsvm_signs')}",
    ]
    if checked := [row for case in cases for row in case["oracle"]]:
        lines.append(
            f"on the {len(checked)} of these rows given to the oracle: |path - oracle| at most "
            f"{largest(checked, 'path_oracle')}, |LIBSVM - oracle| at most "
            f"{largest(checked, 'libsvm_oracle')}"
        )
    lines.append(f"unstable: {len(unstable)}")
    if unstable:
        lines[-1] += (
            f"; path outside its interval: {sum(not row['inside'] for row in unstable)}; sign not known: "
            f"{sum(not sign_known(row) for row in unstable)}; farthest from the middle: "
            f"{largest(unstable, 'from_middle')}"
        )
    return "\n".join(f"* {line}" for line in lines)


def largest(rows: list[dict], key: str) -> str:
    return short(max(row[key] for row in rows))


def total(cases: list[dict], key: str) -> int:
    return sum(case[key] for case in cases)


def sign_known(row: dict) -> bool:
    return row["lowest"] > 0 or row["highest"] < 0


def named(case: dict) -> list:
    return [case["name"], case["kernel"], f"{case['C']:g}"]


def own_row(case: dict) -> list:
    counts = [case["counts"][name] for name in OWN_HEAD[5:11]]
    measured = [short(case["own_difference"]), case["own_signs"], short(case["kkt"])]
    return [*named(case), case["n"], case["n_support"], *counts, *measured]


def libsvm_row(case: dict) -> list:
    return [
        *named(case), case["n_libsvm"], case["n_stopped"], short(case["libsvm_difference"]),
        short(case["converged_difference"]) if case["n_stopped"] < case["n_libsvm"] else "–",
        case["libsvm_signs"], short(case["libsvm_kkt_there"]), short(case["libsvm_kkt"]), case["n_far"],
    ]  # fmt: skip


def oracle_row(case: dict, row: dict) -> list:
    numbers = [short(row[key]) for key in ("path_libsvm", "path_oracle", "libsvm_oracle", "gap")]
    return [*named(case), row["row"], f"{row['value']:.6f}", *numbers]


def unstable_row(case: dict, row: dict) -> list:
    numbers = [f"{row[key]:.6f}" for key in ("path", "retrained", "lowest", "highest")]
    return [
        *named(case), row["row"], *numbers, short(row["from_middle"]), "yes" if sign_known(row) else "no",
    ]  # fmt: skip


def tables(page: Page, cases: list[dict], most: int) -> None:
    """Everything below the summary."""
    page.add("## Path and re-training by this package, every row")
    page.add(table(OWN_HEAD, map(own_row, cases), left=2))
    page.add("## Path and re-training by LIBSVM")
    page.add(table(LIBSVM_HEAD, map(libsvm_row, cases), left=2))
    page.add("## Who is right where LIBSVM differs by more than 1e-5")
    checked = [oracle_row(case, row) for case in cases for row in case["oracle"]]
    page.add(
        "The rows with the largest differences of each case, and the distances between the three values; the "
        "gap is the oracle's own relative duality gap."
    )
    page.add(table(ORACLE_HEAD, checked, left=2) if checked else "There is no such row.")
    page.add("## Unstable rows", UNSTABLE.format(listed=most))
    listed = [unstable_row(case, row) for case in cases for row in case["unstable"][:most]]
    page.add(table(UNSTABLE_HEAD, listed, left=2) if listed else "There is no such row.")


def one_case(data: str, name: str, kernel: str, C: float, options: tuple[int, int, int]) -> dict:
    case = compare(data, name, kernel, C, *options)
    say(
        f"{name} {kernel} C={C:g}: re-trained {short(case['own_difference'])}, "
        f"LIBSVM {short(case['libsvm_difference'])}, {len(case['unstable'])} unstable"
    )
    return case


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--C", default="1,10", metavar="C,C", help="default: %(default)s")
    parser.add_argument(
        "--libsvm-sample",
        type=int,
        default=25,
        metavar="N",
        help="support vectors re-trained with LIBSVM, per case; 0 for all; default: %(default)s",
    )
    parser.add_argument(
        "--libsvm-max-iter", type=int, default=300_000, metavar="N", help="default: %(default)s"
    )
    parser.add_argument(
        "--oracle-rows", type=int, default=3, metavar="N", help="rows per case; default: %(default)s"
    )
    parser.add_argument(
        "--unstable-rows", type=int, default=10, metavar="N", help="listed per case; default: %(default)s"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    args = parse(parser)
    n = args.libsvm_sample
    sample = f"a random sample of {n} support vectors per case (seed 0)" if n else "all support vectors"
    about = ABOUT.format(sample=sample)
    page = Page("validation.leave_one_out_agreement", "How far leave-one-out by the path is right", about)
    options = (args.libsvm_sample, args.libsvm_max_iter, args.oracle_rows)
    cases = Parallel(n_jobs=args.jobs)(
        delayed(one_case)(args.data, name, kernel, float(C), options)
        for name in args.sets
        for kernel in KERNELS
        for C in args.C.split(",")
    )
    page.add(f"LIBSVM's limit: {args.libsvm_max_iter:,} iterations.")
    page.add("## Summary", summary(cases))
    tables(page, cases, args.unstable_rows)
    page.finish(args.output)


if __name__ == "__main__":
    main()
