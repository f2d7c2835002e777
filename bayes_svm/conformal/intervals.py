"""Transductive Venn-Abers intervals: isotonic regressions of the left-out values of the n + 1 points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayes_svm.conformal.scores import LeftOutScores
from bayes_svm.conformal.venn_abers import reading
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.types import Array, Indices

__all__ = ["TransductiveVennAbers", "read_bags"]


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

    def intervals(self, X: object) -> Array:
        """Lower and upper ends, shape (n_new, 2), or (n_new, n_classes, 2) for several classes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_new, n_features)
            New points.
        """
        return read_bags(self.bags(X), self._rows(self.machine.y), [one.resolution for one in self.solutions])

    def bags(self, X: object) -> list[Array]:
        """Left-out values of all rows and of each new point, which is last, with each class as trial label.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_new, n_features)
            New points.

        Returns
        -------
        list of arrays of shape (n_new, n + 1, n_machines)
            One for each class. A row of weight w is repeated w times.
        """
        diagonal, columns = self.machine.kernel.diagonal(X), []
        for k, solution in enumerate(self.solutions):
            cross, part = self.machine.cross(solution.problem, X), self._rows(self._scores.parts[k].of_row)
            same: dict[tuple[bool, float], Array] = {}
            for c in range(len(self.machine.classes)):
                key = (c == k, self._scores.unit[c])
                if len(self.solutions) == 1 or key not in same:
                    found = self._scores.bags(k, cross, diagonal, c)
                    same[key] = np.column_stack([found.values[:, part], found.own])
                columns.append(same[key])
        n_classes = len(self.machine.classes)
        return [np.stack(columns[c::n_classes], axis=-1) for c in range(n_classes)]

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
