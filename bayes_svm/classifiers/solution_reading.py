"""What a fit reads off one solution: left-out values, and what the link needs of the posterior."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.api import Store, read_solution
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.methods import Wanted
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.leave_one_out.result import LeaveOneOut, by_row
from bayes_svm.probability.calibration import offset_scale
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.posterior import Posterior, posterior_of
from bayes_svm.probability.reading import Reader, reader_of
from bayes_svm.utils.memory import available_bytes
from bayes_svm.utils.parallel import ahead_in_threads, spare_threads
from bayes_svm.utils.progress import counted, step
from bayes_svm.utils.types import Array, Indices

__all__ = ["SolutionReader", "SolutionReading", "joined_readings", "link_data", "rows_left_out"]

# Number of folds by which a joint link, or the link of rows in groups or of few rows, is cross-validated; and
# below how many rows these are few.
FOLDS, FEW = 10, 100
# Problems of fewer points are read sooner one after the other.
LEAST = 1000
# What a problem takes at most where all points are free, in bytes for each kernel value, and what it takes if
# the link reads the posterior. Problems that are read at once may take this share of the free memory.
BYTES_OF_VALUE, BYTES_WITH_POSTERIOR, SHARE = 40, 56, 1 / 2


@dataclass(frozen=True)
class SolutionReading:
    """What is read off one solution.

    Parameters
    ----------
    solution : DualSolution
        The solution, without its kernel matrix.
    whole : Outcomes
        Decision value of each row by the machine trained on all rows.
    parts : Outcomes
        Left-out decision value of each part of what leaves.
    seconds : float
        Wall time of leaving out.
    posterior : Posterior
        Posterior for the variance at new points.
    scale : float
        Scale of the prior of the sigmoid's offset.
    link_posterior : Posterior or None
        Posterior that the link reads at new points; None if it reads nothing.
    reading : array of shape (n_samples,), or None
        What the link reads at each training row, the row left out; None if it reads nothing.
    """

    solution: DualSolution
    whole: Outcomes
    parts: Outcomes
    seconds: float
    posterior: Posterior
    scale: float
    link_posterior: Posterior | None
    reading: Array | None


class SolutionReader:
    """Reads the solutions of one fit.

    Parameters
    ----------
    model : BayesSVC
        The estimator whose parameters C, link, max_iter and n_jobs are used.
    machine : Machine
        The training data.
    leaving : Leaving
        What leaves together.
    groups : array of shape (n_samples,), optional
        Number of the group of each row.
    store : Store, optional
        Left-out values that are known already.
    """

    def __init__(
        self,
        model: Any,
        machine: Machine,
        leaving: Leaving,
        groups: Indices | None,
        store: Store | None = None,
    ) -> None:
        self.machine, self.leaving, self.groups, self.store = machine, leaving, groups, store
        self.C = float(model.C)
        self.wanted = Wanted(max_iter=model.max_iter, n_jobs=model.n_jobs)
        self.reader: Reader | None = reader_of(model.link, machine)
        self.rows_per_column = float(machine.weight.sum()) / _number_of_columns(machine)

    def read_all(self, solved: Iterable[tuple[DualSolution, int]]) -> list[SolutionReading]:
        """Read the solution of each problem, if they fit in threads while the next one is solved."""

        def read(one: tuple[DualSolution, int]) -> SolutionReading:
            return self.read(*one)

        found = iter((ahead_in_threads if self._fit_at_once else map)(read, solved))
        return [next(found) for _ in counted(range(self.machine.n_problems), "problems")]

    @property
    def _fit_at_once(self) -> bool:
        """Whether problems are large enough for threads, and memory for one in each and the one solved."""
        gram, spare = self.machine.gram, spare_threads()
        if spare == 0 or self.machine.n_problems == 1 or len(gram) < LEAST or gram.on_demand:
            return False
        of_value = BYTES_OF_VALUE if self.reader is None else BYTES_WITH_POSTERIOR
        free = available_bytes()
        return free is None or of_value * len(gram) ** 2 * (spare + 2) <= SHARE * free

    def read(self, solution: DualSolution, k: int) -> SolutionReading:
        """Left-out values of problem k, and what the link needs of the posterior at its solution."""
        machine, problem, read = self.machine, solution.problem, None
        started = time.perf_counter()
        whole, parts, _ = read_solution(machine, solution, self.leaving, self.wanted, store=self.store, k=k)
        seconds = time.perf_counter() - started
        posterior = posterior_of(machine, solution, self.C)
        if self.reader is not None:
            with step("reading the posterior"):
                read = self.reader.left_out(machine, solution, posterior, self.leaving, self.groups)
        link_posterior, reading = (None, None) if read is None else read
        return SolutionReading(
            solution=solution.detached(),
            whole=whole,
            parts=parts,
            seconds=seconds,
            posterior=posterior,
            scale=offset_scale(problem.label, solution.alpha, problem.bound, self.rows_per_column),
            link_posterior=link_posterior,
            reading=reading,
        )


def _number_of_columns(machine: Machine) -> int:
    """Number of columns that are not 0 everywhere; 1 for a precomputed kernel, whose columns are unknown."""
    if machine.kernel.precomputed:
        return 1
    if sparse.issparse(machine.X):
        return max(1, len(np.unique(machine.X.indices[machine.X.data != 0])))
    return max(1, int(np.count_nonzero(machine.X.any(axis=0))))


def rows_left_out(machine: Machine, leaving: Leaving, found: list[SolutionReading]) -> LeaveOneOut:
    """Left-out values of the rows, from those of the parts."""
    pairs = [(one.whole, one.parts) for one in found]
    return by_row(machine, leaving, pairs, sum(one.seconds for one in found))


def joined_readings(found: list[SolutionReading]) -> Array | None:
    """What the links read at each row, one column per problem; None if one of them has nothing to read."""
    columns = [one.reading for one in found if one.reading is not None]
    if len(columns) < len(found):
        return None
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def link_data(reader: SolutionReader, found: list[SolutionReading], reading: Array | None) -> LinkData:
    """What the links are fitted to: left-out value, label, weight and reading of each part."""
    machine, leaving = reader.machine, reader.leaving
    values = [_without_rounding(one.parts.values, one.solution.resolution) for one in found]
    of_groups = machine.n_problems == 1 and reader.groups is not None
    crossed = machine.n_problems > 1 or of_groups or machine.kinds[3].sum() < FEW
    return LinkData(
        values=values[0] if len(values) == 1 else np.column_stack(values),
        y=machine.y[leaving.part_row],
        weight=leaving.part_weight(machine.weight),
        reading=None if reading is None else leaving.part_means(reading, machine.weight),
        scales=[one.scale for one in found],
        folds=leaving.part_shares(FOLDS, machine, of_groups) if crossed else None,
    )


def _without_rounding(values: Array, resolution: float) -> Array:
    """Left-out values; the middle one for all rows if only rounding tells them apart.

    Where no direction separates the classes, a machine gives all rows one value. A link that is scaled to the
    values' spread would otherwise be fitted to their rounding errors, or to what exactness leaves open.
    """
    low, high = float(values.min()), float(values.max())
    return np.full_like(values, low + (high - low) / 2.0) if high - low <= resolution else values
