"""The machines that are left without some rows, and what they say of other points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.cases import what_leaves
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.methods import Wanted, iterate_parts
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["LeftOutMachines"]


class LeftOutMachines:
    """For some training rows of a BayesSVC, the machines trained without them.

    A row leaves together with its stratum, or its group, as in the fit. The links remain those of the fit;
    they do not moderate.

    Parameters
    ----------
    model : BayesSVC
        The fitted estimator.
    X : array or sparse matrix of shape (n_samples, n_features)
        The training data that it was fitted to.
    y : array of shape (n_samples,)
        Their labels.
    sample_weight : array of shape (n_samples,), optional
        The sample weights of the fit.
    groups : array of shape (n_samples,), optional
        The groups of the fit.
    size : int, default=500
        Number of rows; all, if there are not more. What the rows hold decides which.

    Attributes
    ----------
    rows : array of shape (n_rows,)
        Numbers of the rows. Equal rows of one label and weight that leave together stand for each other.
    copies : array of shape (n_rows,)
        How many rows each stands for; copies by a sample weight count, too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC
    >>> from bayes_svm.classifiers.left_out_machines import LeftOutMachines
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> machines = LeftOutMachines(BayesSVC().fit(X, y), X, y, size=100)
    >>> wrong = machines.log_proba(X[machines.rows]).argmax(axis=1) != y[machines.rows]
    >>> int(wrong.sum())
    2
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        size: int = 500,
    ) -> None:
        self._probabilities = model._probabilities
        with one_blas_thread():
            machine, solutions = machine_of(model, X, y, sample_weight)
            numbers = group_numbers(groups, len(machine.y))
            leaving = what_leaves(machine, model.leave_out, y, numbers, model.leave_out_size)
            parts = _some_parts(machine, leaving, size)
            self.rows: Indices = leaving.part_row[parts]
            self.copies: Array = leaving.copies[parts]
            wanted = Wanted(max_iter=model.max_iter, n_jobs=model.n_jobs)
            self._machine = machine
            self._machines = [
                (solution.detached(), *_expansions(machine, solution, leaving, wanted, parts))
                for solution in solutions
            ]

    @property
    def n_machines(self) -> int:
        """Number of machines of the model: 1 for two classes, otherwise one per class."""
        return len(self._machines)

    def log_proba(self, X: Any) -> Array:
        """Log-probabilities of the classes at a point for each row, by the machine without the row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            The points, in the order of ``rows``.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of the classes.
        """
        X = check_array(X, input_name="X", accept_sparse="csr", dtype=np.float64)
        if X.shape[0] != len(self.rows):
            raise ValueError(f"X has {X.shape[0]} points: give one for each of the {len(self.rows)} rows.")
        with one_blas_thread():
            values = np.column_stack(
                [
                    np.einsum("ij,ij->i", self._machine.cross(solution.problem, X), beta) + intercept
                    for solution, beta, intercept in self._machines
                ]
            )
        return np.asarray(self._probabilities.unmoderated(values[:, 0] if values.shape[1] == 1 else values))


def _some_parts(machine: Machine, leaving: Leaving, size: int) -> Indices:
    """Some of the parts of each class, in ascending order."""
    if len(leaving.part_row) <= size:
        return np.arange(len(leaving.part_row))
    shuffled = leaving.shuffled(machine)
    places = np.linspace(0, len(shuffled) - 1, min(size, len(shuffled))).round().astype(np.intp)
    return np.sort(shuffled[places])


def _expansions(
    machine: Machine, solution: DualSolution, leaving: Leaving, wanted: Wanted, parts: Indices
) -> tuple[Array, Array]:
    """Coefficients, shape (n_parts, n_points), and intercepts of the machines without some parts."""
    n_points = len(solution.problem.label)
    # A decision value is linear in the kernel values: those of unit vectors give the coefficients, and the
    # zero vector, which is last, gives the intercept.
    at = np.eye(n_points + 1, n_points)
    found = np.empty((len(parts), n_points + 1))
    for some, _, values_at in iterate_parts(machine, solution, leaving, wanted, at, parts):
        here = np.isin(parts, some)
        found[here] = values_at[np.searchsorted(some, parts[here])]
    return found[:, :-1] - found[:, -1:], found[:, -1]
