"""Transductive Venn-Abers intervals: isotonic regressions of the left-out values of the n + 1 points."""

from __future__ import annotations

import numpy as np

from bayes_svm.conformal.scores import LeftOutScores
from bayes_svm.conformal.venn_abers import reading
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.types import Array, Indices

__all__ = ["TransductiveVennAbers"]


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
        columns = []
        for k in range(len(self.solutions)):
            rows, ends = self._label(k) > 0, []
            for sign in (-1.0, 1.0):
                bag = self._bag(k, X, sign)
                ends.append(reading(bag, np.append(rows, sign > 0), bag[:, -1]))
            columns.append(np.sort(np.column_stack(ends), axis=1))
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

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
        numbers = range(len(self.solutions))
        rest, own = ([self._bag(k, X, sign) for k in numbers] for sign in (-1.0, 1.0))
        if len(rest) == 1:
            return [rest[0][..., None], own[0][..., None]]
        return [np.stack([(own if k == c else rest)[k] for k in numbers], axis=-1) for c in numbers]

    def _bag(self, k: int, X: object, sign: float) -> Array:
        """Left-out values of machine k, shape (n_new, n + 1), where the new points have this label."""
        cross = self.machine.cross(self.solutions[k].problem, X)
        values, own, _ = self._scores.valued(k, cross, self.machine.kernel.diagonal(X), sign)
        return np.column_stack([values[:, self._points(k)], own])

    def _points(self, k: int) -> Indices:
        """The point of problem k that each of the n rows is."""
        return np.repeat(self.solutions[k].problem.group, self.machine.weight.astype(np.intp))

    def _label(self, k: int) -> Array:
        return np.asarray(self.solutions[k].problem.label[self._points(k)])
