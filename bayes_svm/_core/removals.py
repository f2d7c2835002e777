"""What is left out of a dual problem: see ``docs/explanation/leave_one_out.md`` for the words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Removals"]


class Removals(NamedTuple):
    """Cases of leaving out, each a set of points with the upper bounds that they keep.

    Attributes
    ----------
    start : array of shape (n_cases + 1,)
        Case k has the members ``start[k]`` to ``start[k + 1] - 1``, at least one.
    points : array of shape (n_members,)
        The point that each member is. A point occurs at most once in a case.
    rest : array of shape (n_members,)
        Upper bound that the point keeps: 0 where nothing of it is left.
    """

    start: Indices
    points: Indices
    rest: Array

    @classmethod
    def of_points(cls, points: Indices, rest: Array) -> Removals:
        """Make every point a case of its own."""
        return cls(np.arange(len(points) + 1), points, rest)

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.start) - 1

    @property
    def single(self) -> bool:
        """Whether every case has one member."""
        return len(self.points) == self.n_cases

    @property
    def sizes(self) -> Indices:
        """Number of members of each case."""
        return np.asarray(self.start[1:] - self.start[:-1])

    @property
    def case(self) -> Indices:
        """The case of each member."""
        if self.single:
            return np.arange(self.n_cases)
        return np.repeat(np.arange(self.n_cases), self.sizes)

    def members(self, cases: Indices) -> Indices:
        """Numbers of the members of some cases, case by case; of all cases in their order."""
        if self.single:
            return cases
        if len(cases) == self.n_cases:
            return np.arange(len(self.points))
        sizes = self.start[cases + 1] - self.start[cases]
        offsets = np.repeat(self.start[cases] - (np.cumsum(sizes) - sizes), sizes)
        return np.asarray(np.arange(int(sizes.sum())) + offsets, dtype=np.intp)

    def take(self, cases: Indices) -> Removals:
        """Some of the cases, each once; all of them in their order."""
        if len(cases) == self.n_cases:
            return self
        if self.single:
            return Removals.of_points(self.points[cases], self.rest[cases])
        members = self.members(cases)
        sizes = self.start[cases + 1] - self.start[cases]
        return Removals(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), self.points[members], self.rest[members]
        )

    def any_member(self, mask: Mask) -> Mask:
        """Which cases have a member for which ``mask`` is true."""
        if self.single:
            return mask
        return np.bincount(self.case, weights=mask, minlength=self.n_cases) > 0

    def bounds(self, bound: Array, case: int) -> Array:
        """Upper bounds of alpha in the problem without one case, given those of the whole problem."""
        members = slice(self.start[case], self.start[case + 1])
        bound = bound.copy()
        bound[self.points[members]] = self.rest[members]
        return bound
