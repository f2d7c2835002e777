"""What is known of cases that were left out: see ``docs/explanation/leave_one_out.md`` for the words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.removals import Removals
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Outcomes", "Remainders"]

# Fields of Outcomes with an entry for each member.
OF_MEMBERS = ("values", "signs")
# Fields of Outcomes with an entry for each case.
OF_CASES = ("status", "events", "columns", "kkt_residual", "gap")


@dataclass(frozen=True)
class Remainders:
    r"""Decision functions of the machines that are left without some cases.

    .. math:: f_k(x) = \sum_i (\beta_i + \delta_{ki}) k(x_i, x) + b + b_k

    Parameters
    ----------
    cases : array of shape (n_cases,)
        Numbers of the cases.
    beta : array of shape (n_points,)
        Coefficients that the machines have in common.
    intercept : float
        Intercept b that the machines have in common.
    points : array of shape (n_changed,), or slice
        Points whose coefficients differ from the common ones.
    delta : array of shape (n_cases, n_changed)
        Differences of these coefficients from the common ones.
    shift : array of shape (n_cases,)
        Difference of each intercept from the common one.
    """

    cases: Indices
    beta: Array
    intercept: float
    points: Indices | slice
    delta: Array
    shift: Array

    @classmethod
    def equal(cls, cases: Indices, beta: Array, intercept: float, shift: Array | None = None) -> Remainders:
        """Machines with equal coefficients."""
        shift = np.zeros(len(cases)) if shift is None else shift
        return cls(cases, beta, intercept, np.empty(0, dtype=np.intp), np.empty((len(cases), 0)), shift)

    def values(self, cross: Array) -> Array:
        """Decision values at some points, shape (n_cases, n_at).

        Parameters
        ----------
        cross : array of shape (n_at, n_points)
            Kernel values between these points and those of the problem.
        """
        common = cross @ self.beta + self.intercept
        return np.asarray(common + self.delta @ cross[:, self.points].T + self.shift[:, None])


@dataclass(frozen=True)
class Outcomes:
    """What is known of each case.

    The same record holds what is known of rows. Each row is then a case of one member.

    Parameters
    ----------
    values : array of shape (n_members,)
        Decision value at each member; NaN where only its sign was asked for.
    signs : array of shape (n_members,)
        Their signs, -1, 0 or 1.
    status : array of shape (n_cases,)
        As in :class:`bayes_svm.LeaveOneOut`; empty for a case that is still open.
    events : array of shape (n_cases,)
        Changes of the partition on the way.
    columns : array of shape (n_cases,)
        Kernel columns that an iterative solver evaluated.
    kkt_residual, gap : arrays of shape (n_cases,)
        Largest violation of the optimality conditions of the remaining problem over all its
        points, and its relative duality gap.
    remainders : list of Remainders, or None
        The machines that are left, which give decision values at any points; None if they are not asked for.
    """

    values: Array
    signs: Array
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    columns: NDArray[np.int64]
    kkt_residual: Array
    gap: Array
    remainders: list[Remainders] | None = None

    @classmethod
    def open(cls, removals: Removals, *, remainders: bool = False) -> Outcomes:
        """An empty record; ``remainders`` says whether the machines that are left shall be kept."""
        n_members, n_cases = len(removals.points), removals.n_cases
        return cls(
            values=np.full(n_members, np.nan),
            signs=np.zeros(n_members),
            status=np.zeros(n_cases, dtype="<U10"),
            events=np.zeros(n_cases, dtype=np.int64),
            columns=np.zeros(n_cases, dtype=np.int64),
            kkt_residual=np.zeros(n_cases),
            gap=np.zeros(n_cases),
            remainders=[] if remainders else None,
        )

    @classmethod
    def of_whole(cls, solution: DualSolution, values: Array) -> Outcomes:
        """What is known of rows under the whole machine, from their decision values."""
        n = len(values)
        status = "inexact" if not solution.exact else "unchanged" if solution.stable else "unstable"
        return cls(
            values=values.copy(),
            signs=np.sign(values),
            status=np.full(n, status, dtype="<U10"),
            events=np.zeros(n, dtype=np.int64),
            columns=np.zeros(n, dtype=np.int64),
            kkt_residual=np.full(n, solution.kkt_residual),
            gap=np.full(n, solution.relative_gap),
        )

    @classmethod
    def of_values(cls, values: Array, status: NDArray[np.str_]) -> Outcomes:
        """Values of which only the status is known; residual and gap are infinite."""
        n, nothing = len(values), np.zeros(len(values), dtype=np.int64)
        unknown = np.full(n, np.inf)
        return cls(values, np.sign(values), status, nothing, nothing, unknown, unknown)

    def unknown(self, rows: Mask) -> Outcomes:
        """A copy in which nothing is known of some rows, each a case of one member."""
        nothing: dict[str, Any] = {"status": "left in", "signs": 0.0, "events": 0, "columns": 0}
        return self.map(lambda name, known: np.where(rows, nothing.get(name, np.nan), known))

    @property
    def pending(self) -> Indices:
        """Cases that are still open."""
        return (self.status == "").nonzero()[0]

    def put(self, removals: Removals, cases: Indices, part: Outcomes) -> None:
        """Fill in ``part``, the outcomes of ``removals.take(cases)``."""
        members = removals.members(cases)
        for names, where in ((OF_MEMBERS, members), (OF_CASES, cases)):
            for name in names:
                getattr(self, name)[where] = getattr(part, name)
        for one in part.remainders or []:
            self.keep(replace(one, cases=cases[one.cases]))

    def map(self, of: Callable[[str, NDArray[Any]], NDArray[Any]]) -> Outcomes:
        """A new record from a function of the name and the values of each array; without the machines."""
        arrays: list[Any] = [of(name, getattr(self, name)) for name in OF_MEMBERS + OF_CASES]
        return Outcomes(*arrays)

    def put_rows(self, rows: Indices, part: Outcomes) -> None:
        """Fill in the outcomes of some rows, each a case of one member."""
        for name in OF_MEMBERS + OF_CASES:
            getattr(self, name)[rows] = getattr(part, name)

    def keep(self, remainders: Remainders) -> None:
        """Keep the machines of some cases, if they are asked for."""
        if self.remainders is not None:
            self.remainders.append(remainders)

    def take(self, member: Indices, case: Indices) -> Outcomes:
        """A record with a case of one member for each entry of ``member`` and its ``case``."""
        return self.map(lambda name, known: known[member if name in OF_MEMBERS else case])

    def set_values(self, members: Indices | slice, values: Array | float) -> None:
        """Fill in the decision values of some members, and their signs."""
        self.values[members] = values
        self.signs[members] = np.sign(values)

    def values_at(self, cross: Array) -> Array:
        """Decision values at some additional points, of the machine without each case.

        Parameters
        ----------
        cross : array of shape (n_at, n_points)
            Kernel values between these points and those of the problem.

        Returns
        -------
        array of shape (n_cases, n_at)
            The decision values; NaN for a case whose machine is not kept.
        """
        values = np.full((len(self.status), len(cross)), np.nan)
        for one in self.remainders or []:
            values[one.cases] = one.values(cross)
        return values
