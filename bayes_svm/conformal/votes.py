"""The vote of the rows on a point, which orders points of equal decision value."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem
from bayes_svm.utils.types import Array, Indices

__all__ = ["Votes", "vote"]

# Rows whose kernel values are computed together.
BLOCK = 256


class Votes:
    r"""How the rows of one problem vote on a point, each with its kernel value as its weight.

    .. math:: v(x) = \frac{\sum_j y_j k(x_j, x)}{1 + \sum_j |k(x_j, x)|}

    An exact machine gives all its free points the same decision value, and many points of few distinct rows
    too. Among these the vote tells which is surrounded by its own class. A point does not vote on itself: the
    rows that leave with it are left out of both sums. The 1 stands for an undecided vote, so that far from
    all rows the vote is 0.

    Parameters
    ----------
    machine : Machine
        The training data.
    problem : DualProblem
        One of its problems.
    copies : array of shape (n_points,)
        Number of equal rows that each point stands for.
    point : array of shape (n_parts,)
        The point of each of the parts that are voted on.
    case : array of shape (n_parts,)
        What leaves with each part: a row of ``leaves``.
    leaves : CSR array of shape (n_cases, n_points)
        How many copies of each point leave in each case.
    """

    def __init__(
        self,
        machine: Machine,
        problem: DualProblem,
        copies: Array,
        point: Indices,
        case: Indices,
        leaves: sparse.csr_array,
    ) -> None:
        self.machine, self.problem, self.point, self.case = machine, problem, point, case
        # The weights of the two sums.
        self._all = np.column_stack([problem.label * copies, copies])
        self._leaves = leaves.multiply(problem.label).tocsr(), leaves
        blocks = np.split(np.arange(len(point)), np.arange(BLOCK, len(point), BLOCK))
        self._sums: Array = np.vstack([self._at_parts(block) for block in blocks])

    @classmethod
    def alone(cls, machine: Machine, problem: DualProblem, copies: Array) -> Votes:
        """Votes on the points of the problem, with which one copy leaves."""
        every = np.arange(len(problem.label))
        leaves = sparse.csr_array((np.ones(len(every)), (every, every)))
        return cls(machine, problem, copies, every, every, leaves)

    def at(self, cross: Array) -> Array:
        """Sums of all rows at new points, shape (n_new, 2).

        Parameters
        ----------
        cross : array of shape (n_new, n_points)
            Kernel values between the new points and those of the problem.
        """
        return np.column_stack([cross @ self._all[:, 0], np.abs(cross) @ self._all[:, 1]])

    def at_without(self, cross: Array, parts: Indices) -> Array:
        """Sums at new points without what leaves with each part, shape (n_new, n_parts, 2)."""
        cases, place = np.unique(self.case[parts], return_inverse=True)
        left = [
            (leaves[cases] @ values.T).T
            for leaves, values in zip(self._leaves, (cross, np.abs(cross)), strict=True)
        ]
        return self.at(cross)[:, None] - np.stack(left, axis=-1)[:, place]

    def of(self, parts: Indices) -> Array:
        """Sums at the rows of some parts, without what leaves with each, shape (n_parts, 2)."""
        return np.asarray(self._sums[parts])

    def of_with(self, parts: Indices, cross: Array, sign: float) -> Array:
        """The same with new points of a label added, shape (n_new, n_parts, 2)."""
        values = cross[:, self.point[parts]]
        return self.of(parts) + np.stack([sign * values, np.abs(values)], axis=-1)

    def _at_parts(self, parts: Indices) -> Array:
        rows = self.machine.X[self.problem.first_row[self.point[parts]]]
        cross = self.machine.cross(self.problem, rows)
        left = [
            np.asarray(leaves[self.case[parts]].multiply(values).sum(axis=1)).ravel()
            for leaves, values in zip(self._leaves, (cross, np.abs(cross)), strict=True)
        ]
        return self.at(cross) - np.column_stack(left)


def vote(sums: Array) -> Array:
    """The votes from the two sums along the last axis."""
    return np.asarray(sums[..., 0] / (1.0 + sums[..., 1]))
