"""Transductive Venn-Abers intervals: isotonic regressions of the left-out values of the n + 1 points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.conformal.scores import LeftOutScores
from bayes_svm.conformal.venn_abers import reading
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.types import Array, Indices, Mask
from bayes_svm.utils.warn import warn

__all__ = ["Joined", "TransductiveVennAbers", "read_bags", "where_exact"]


class Joined(NamedTuple):
    """Left-out values of all rows and of each new point, which is last, with each class as trial label.

    Parameters
    ----------
    bags : list of arrays of shape (n_new, n + 1, n_columns)
        One for each class. A row of weight w is repeated w times.
    inexact : array of bool of shape (n_new,)
        Of which new points some value is not exact.
    """

    bags: list[Array]
    inexact: Mask


class TransductiveVennAbers:
    r"""Probability intervals from all n + 1 points, for some hundreds of rows.

    .. math:: p_y(x) = g_y \left( f_Z(x) \right), \qquad
              g_y \text{ isotonic, fitted to } \left( f_{Z^y \setminus i}(x_i), y_i \right) \text{ for all } i

    Each of the n + 1 points, the new one with its trial label y among them, has the decision value of the
    machine trained without it: all are treated alike. For several classes each has its machine against the
    rest.

    Parameters
    ----------
    machine : Machine
        The training data. A weight is a number of equal rows.
    solutions : list of DualSolution
        The solution of each of its problems.
    """

    def __init__(self, machine: Machine, solutions: list[DualSolution]) -> None:
        self.machine, self.solutions = machine, solutions
        self._scores = LeftOutScores(machine, solutions, class_conditional=False)

    def intervals(self, X: object) -> tuple[Array, Mask]:
        """Lower and upper ends, and which are of values that are not all exact.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_new, n_features)
            New points.

        Returns
        -------
        array of shape (n_new, 2), or (n_new, n_classes, 2) for several classes
            The ends.
        array of bool of shape (n_new,)
            Of which points some value is not exact.
        """
        joined, roundings = self.joined(X), [one.resolution for one in self.solutions]
        return read_bags(joined.bags, self._rows(self.machine.y), roundings), joined.inexact

    def joined(self, X: object) -> Joined:
        """Decision values of all rows and of each new point, with one column for each machine.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_new, n_features)
            New points.
        """
        diagonal, columns = self.machine.kernel.diagonal(X), []
        inexact = np.zeros(len(diagonal), dtype=bool)
        for k, solution in enumerate(self.solutions):
            cross, part = self.machine.cross(solution.problem, X), self._rows(self._scores.parts[k].of_row)
            same: dict[tuple[bool, float], Array] = {}
            for c in range(len(self.machine.classes)):
                key = (c == k, self._scores.unit[c])
                if len(self.solutions) == 1 or key not in same:
                    found = self._scores.bags(k, cross, diagonal, c)
                    same[key] = np.column_stack([found.values[:, part], found.own])
                    inexact |= found.inexact
                columns.append(same[key])
        n_classes = len(self.machine.classes)
        return Joined([np.stack(columns[c::n_classes], axis=-1) for c in range(n_classes)], inexact)

    def _rows(self, of_row: Indices) -> Indices:
        """What is known of each row, as often as its weight says."""
        return np.repeat(of_row, self.machine.weight.astype(np.intp))


def read_bags(bags: list[Array], y: Indices, roundings: Sequence[float] | None = None) -> Array:
    """Intervals of each class against the rest: the ends that the trial labels give.

    Parameters
    ----------
    bags : list of arrays of shape (n_new, n + 1, n_columns)
        Values that rise with the probability of each column's class, the new points' last; one array for each
        class as their trial label. One column is that of the second of two classes.
    y : array of shape (n,)
        Class number of each row.
    roundings : sequence of float, optional
        Of each column, how much values may differ and be equal. None: not at all.

    Returns
    -------
    array of shape (n_new, 2), or (n_new, n_classes, 2) for several columns
        Lower and upper ends.
    """
    n_columns = bags[0].shape[2]
    roundings = [0.0] * n_columns if roundings is None else roundings
    columns = [(0, 1)] if n_columns == 1 else [(k, k) for k in range(n_columns)]
    ends = [
        [reading(bag[:, :, k], np.append(y, c) == own, bag[:, -1, k], roundings[k]) for k, own in columns]
        for c, bag in enumerate(bags)
    ]
    found = np.stack([np.min(ends, axis=0), np.max(ends, axis=0)], axis=-1)
    return np.asarray(found[0] if n_columns == 1 else found.swapaxes(0, 1))


def where_exact(ends: Array, inexact: Mask, of_fit: Array) -> Array:
    """Intervals of all n + 1 points; where their values are not exact, those of the fit's left-out values.

    Parameters
    ----------
    ends, of_fit : arrays of shape (n_new, 2) or (n_new, n_classes, 2)
        Intervals.
    inexact : array of bool of shape (n_new,)
        Which of the first are of values that are not all exact.

    Warns
    -----
    ConvergenceWarning
        If there are such points.
    """
    if not inexact.any():
        return ends
    warn(
        f"With {np.count_nonzero(inexact)} of the {len(inexact)} points as one more row, left-out values are "
        "not exact: the intervals of these points read the left-out values of the fit. Either the points are "
        "very far from the training data, or X needs scaling, for example with StandardScaler.",
        ConvergenceWarning,
    )
    return np.where(inexact.reshape(-1, *[1] * (ends.ndim - 1)), of_fit, ends)
