"""Transductive Venn-Abers intervals: isotonic regressions of the left-out values of the n + 1 points."""

from __future__ import annotations

import numpy as np

from bayes_svm.conformal.scores import LeftOutScores
from bayes_svm.conformal.venn_abers import reading
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.types import Array

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
        diagonal = self.machine.kernel.diagonal(X)
        columns = []
        for k, solution in enumerate(self.solutions):
            cross = self.machine.cross(solution.problem, X)
            group = np.repeat(solution.problem.group, self.machine.weight.astype(np.intp))
            rows = solution.problem.label[group] > 0
            ends = []
            for sign in (-1.0, 1.0):
                values, own, _ = self._scores.valued(k, cross, diagonal, sign)
                bag = np.column_stack([values[:, group], own])
                ends.append(reading(bag, np.append(rows, sign > 0), own))
            columns.append(np.sort(np.column_stack(ends), axis=1))
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
