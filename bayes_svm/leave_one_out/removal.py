"""What is left out, and what comes of it: one case for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayes_svm.dual.problem import DualProblem
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Outcomes", "Removals"]


@dataclass(frozen=True)
class Removals:
    """Cases of leaving out, each a set of points and what is left of their upper bounds.

    Parameters
    ----------
    start : array of shape (n_cases + 1,)
        Case k has the members ``start[k]`` to ``start[k + 1] - 1``, at least one.
    points : array of shape (n_members,)
        Points of the problem, each once in a case.
    rest : array of shape (n_members,)
        Upper bound that the point keeps: 0 where nothing of it is left.
    """

    start: Indices
    points: Indices
    rest: Array

    @classmethod
    def of_points(cls, points: Indices, rest: Array) -> Removals:
        """Every point a case of its own."""
        return cls(np.arange(len(points) + 1), points, rest)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def single(self) -> bool:
        """Whether every case has one member."""
        return len(self.points) == len(self)

    @cached_property
    def case(self) -> Indices:
        """The case of each member."""
        if self.single:
            return np.arange(len(self))
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def members(self, cases: Indices) -> Indices:
        """Member numbers of some cases, in their order."""
        if self.single:
            return cases
        sizes = self.start[cases + 1] - self.start[cases]
        offsets = np.repeat(self.start[cases] - (np.cumsum(sizes) - sizes), sizes)
        return np.asarray(np.arange(int(sizes.sum())) + offsets, dtype=np.intp)

    def take(self, cases: Indices) -> Removals:
        """Some of the cases."""
        if self.single:
            return Removals.of_points(self.points[cases], self.rest[cases])
        members = self.members(cases)
        sizes = self.start[cases + 1] - self.start[cases]
        return Removals(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), self.points[members], self.rest[members]
        )

    def any_member(self, mask: Mask) -> Mask:
        """Which cases have a member that ``mask`` holds for."""
        if self.single:
            return mask
        return np.bincount(self.case, weights=mask, minlength=len(self)) > 0

    def bounds(self, problem: DualProblem, case: int) -> Array:
        """Upper bounds of alpha in the problem that is left in one case."""
        members = slice(self.start[case], self.start[case + 1])
        bound = problem.bound.copy()
        bound[self.points[members]] = self.rest[members]
        return bound


@dataclass(frozen=True)
class Outcomes:
    """What came of each case.

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
    at : array of shape (n_cases, n_at)
        Decision values at the points asked for besides.
    """

    values: Array
    signs: Array
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    columns: NDArray[np.int64]
    kkt_residual: Array
    gap: Array
    at: Array

    @classmethod
    def open(cls, removals: Removals, n_at: int = 0) -> Outcomes:
        """Nothing known yet."""
        n_members, n_cases = len(removals.points), len(removals)
        return cls(
            values=np.full(n_members, np.nan),
            signs=np.zeros(n_members),
            status=np.zeros(n_cases, dtype="<U10"),
            events=np.zeros(n_cases, dtype=np.int64),
            columns=np.zeros(n_cases, dtype=np.int64),
            kkt_residual=np.zeros(n_cases),
            gap=np.zeros(n_cases),
            at=np.full((n_cases, n_at), np.nan),
        )

    @property
    def pending(self) -> Indices:
        """Cases that are still open."""
        return np.flatnonzero(self.status == "")

    def put(self, removals: Removals, cases: Indices, part: Outcomes) -> None:
        """Fill in ``part``, the outcomes of ``removals.take(cases)``."""
        members = removals.members(cases)
        for name, values in vars(part).items():
            where = members if name in ("values", "signs") else cases
            getattr(self, name)[where] = values

    def set_values(self, members: Indices | slice, values: Array | float) -> None:
        """Decision values of some members, with their signs."""
        self.values[members] = values
        self.signs[members] = np.sign(values)
