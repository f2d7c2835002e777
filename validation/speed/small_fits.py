"""Wall times of small fits beside scikit-learn's, and where the time of one goes.

    python -m validation.speed.small_fits --data DIR [--sets A,B] [--rounds N] [--profile SET] [--output FILE]

All estimators with their defaults, on one thread, fitted to the training part of the first random split of
the IDA sets, standardised. Each round fits every model three times in a row, so that none pays for what
another left in the processor's caches; the smallest of all times counts. ``--profile SET`` fits ``BayesSVC``
to one set for some seconds instead, and tells the share of each step. Run it on a machine that does nothing
else. The profile needs a Unix system.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import SETS, Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import ida_split

MODELS: dict[str, Callable[[], BaseEstimator]] = {
    "SVC": SVC,
    "BayesSVC": BayesSVC,
    'BayesSVC, leave_out="rows"': lambda: BayesSVC(leave_out="rows"),
    "CalibratedCV": lambda: CalibratedClassifierCV(SVC(), ensemble=False),
}
# Ratios of times, by the places of the two models above.
RATIOS = {
    "BayesSVC / SVC": (1, 0),
    "rows / SVC": (2, 0),
    "BayesSVC / CalibratedCV": (1, 3),
    "rows / CalibratedCV": (2, 3),
}
# Of the functions that a sample finds at work, the innermost one in this table says which step it belongs to.
# Compiled loops count for the function that calls them.
STEPS = {
    "BaseEstimator._validate_params": "parameters checked",
    "SVCParameters._machine": "data checked",
    "distinct_rows": "equal rows merged",
    "kernel_matrix": "kernel matrix",
    "Machine.radial_rank": "rows ordered",
    "Machine.shuffled_rank": "rows ordered",
    "what_leaves": "strata dealt",
    "solve": "solution: measured, and the rest",
    "lower_violation": "solution: pairs moved",
    "polish": "solution: made exact",
    "read_solution": "left out: the rest",
    "SharedTableau.sweep": "left out: tableau",
    "_run_batch": "left out: paths",
    "verify": "left out: ends verified",
    "_information": "information for the link: the rest",
    "information_across": "information for the link: across halves",
    "halves": "information for the link: halves dealt",
    "fit_links": "link fitted",
    "BayesSVC._store_machine": "attributes",
    "BayesSVC._store_left_out": "attributes",
}
REST = "the rest"
PROFILED_SECONDS = 10.0
# So many fits of one model follow each other.
IN_A_ROW = 3
# Processor time between two samples. Many systems measure it in steps of some milliseconds.
INTERVAL = 0.001


def training_part(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    return ida_split(data, name, None, 0)[:2]


def measured(args: argparse.Namespace) -> dict[str, tuple[int, np.ndarray]]:
    """Of each set the number of rows, and the smallest seconds of every model."""
    parts = {name: training_part(args.data, name) for name in args.sets}
    best = {name: np.full(len(MODELS), np.inf) for name in parts}
    for number in range(args.rounds):
        for name, (X, y) in parts.items():
            for k, make in enumerate(MODELS.values()):
                for _ in range(IN_A_ROW):
                    model = make()
                    started = time.perf_counter()
                    model.fit(X, y)
                    best[name][k] = min(best[name][k], time.perf_counter() - started)
        say(f"round {number + 1} of {args.rounds}")
    return {name: (len(y), best[name]) for name, (_, y) in parts.items()}


def times_table(found: dict[str, tuple[int, np.ndarray]]) -> str:
    rows: list[list[object]] = []
    for name, (n, times) in found.items():
        ratios = [f"{times[a] / times[b]:.2f}" for a, b in RATIOS.values()]
        rows.append([name, n, *(f"{1e3 * seconds:.2f}" for seconds in times), *ratios])
    means = [geometric_mean(times[a] / times[b] for _, times in found.values()) for a, b in RATIOS.values()]
    rows.append(["**geometric mean**", "", *("" for _ in MODELS), *(f"**{mean:.2f}**" for mean in means)])
    return table(("set", "rows", *(f"{name}, ms" for name in MODELS), *RATIOS), rows)


def step_of(frame: FrameType | None) -> str:
    """The step that this frame, or the nearest one around it, belongs to."""
    while frame is not None:
        if frame.f_code.co_qualname in STEPS:
            return STEPS[frame.f_code.co_qualname]
        frame = frame.f_back
    return REST


def profiled(X: np.ndarray, y: np.ndarray) -> tuple[Counter[str], float]:
    """How many samples found each step at work, and the mean seconds of a fit.

    A sample waits for the end of a call out of Python, so that compiled code counts in full.
    """
    samples: Counter[str] = Counter()
    signal.signal(signal.SIGPROF, lambda _, frame: samples.update([step_of(frame)]))
    number, started = 0, time.perf_counter()
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    while time.perf_counter() - started < PROFILED_SECONDS:
        BayesSVC().fit(X, y)
        number += 1
    seconds = (time.perf_counter() - started) / number
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    return samples, seconds


def profile_table(samples: Counter[str], seconds: float) -> str:
    total = samples.total()
    order = [*dict.fromkeys(STEPS.values()), REST]
    rows = [
        [step, f"{100 * samples[step] / total:.1f} %", f"{1e3 * seconds * samples[step] / total:.2f}"]
        for step in order
    ]
    return table(("step", "share", "ms"), [*rows, ["**whole fit**", "", f"**{1e3 * seconds:.2f}**"]])


def main() -> None:
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--profile", choices=SETS, metavar="SET", help="where the time of a fit goes")
    args = parse(parser)
    page = Page("validation.speed.small_fits", "How long a small fit takes", __doc__.split("\n\n")[2].strip())
    with threadpool_limits(1):
        for make in MODELS.values():
            make().fit(*training_part(args.data, args.sets[0]))
        if args.profile is None:
            page.add(f"Rounds: {args.rounds}.", times_table(measured(args)))
        else:
            X, y = training_part(args.data, args.profile)
            samples, seconds = profiled(X, y)
            page.add(
                f"`BayesSVC().fit`, {args.profile}, {len(y)} rows: {samples.total()} samples.",
                profile_table(samples, seconds),
            )
    page.finish(args.output)


if __name__ == "__main__":
    main()
