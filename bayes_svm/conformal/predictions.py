"""Predictions of a fitted ConformalSVC: p-values of all labels, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm.conformal.promise import EXACT
from bayes_svm.conformal.scores import Comparison, Scores
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.order import coarse_keys, uniforms_of_rows
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.checks import with_narrow_indices
from bayes_svm.utils.parallel import run_all
from bayes_svm.utils.progress import shown, step
from bayes_svm.utils.scikit_learn import LinkedToItsPage
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Mask
from bayes_svm.utils.warn import warn

__all__ = ["ConformalPredictions", "told_apart"]

# Bytes of the largest arrays for the new points that are handled together.
BLOCK_BYTES = 2**28
# At most so many new points are handled together.
BLOCK = 256


def told_apart(X: Any) -> Array:
    """Rows as one number each, the same for rows that only rounding tells apart.

    A step before the machine rounds one row and a batch of rows differently, and the mean of permuted rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Feature vectors.

    Returns
    -------
    array of shape (n_samples, 1)
        The numbers.
    """
    return (coarse_keys(X) >> np.uint64(11)).astype(np.float64)[:, None]  # as many bits as a double holds


class ConformalPredictions(LinkedToItsPage, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Predictions of :class:`bayes_svm.ConformalSVC`, from what its ``fit`` stores."""

    n_jobs: int | None
    verbose: int
    classes_: NDArray[Any]
    estimator_: Any
    score_: str
    _machine: Machine
    _solutions: list[DualSolution]
    _scores: Scores
    _seed: int
    _smoothed: bool

    def p_values(self, X: Any) -> Array:
        r"""How plausible each label is: the share of rows at least as strange as the point would be with it.

        .. math:: P(p_{y}(x) \le \varepsilon) \le \varepsilon \quad \text{for the true label } y

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New points.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The p-values, in (0, 1]; ``guarantee_`` says what is promised.

        Raises
        ------
        ValueError
            If X is not as in ``fit``, or so large that a kernel value is not finite.
        MemoryError
            If the kernel values of some new points do not fit.

        Warns
        -----
        ConvergenceWarning
            If a machine with a new point is not exact.
        """
        return self._p_values(X)[0]

    def predict_set(self, X: Any, confidence_level: float | Sequence[float] = 0.9) -> Mask:
        """Sets of labels that hold the true one with a guaranteed probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New points.
        confidence_level : float in (0, 1) or list of floats, default=0.9
            Probability with which the set is to hold the true label.

        Returns
        -------
        array of bool of shape (n_samples, n_classes) or (n_samples, n_classes, n_levels)
            Which labels are in the set, in the order of ``classes_``. A set may be empty: then no label is
            plausible.

        Raises
        ------
        ValueError
            If a level is not between 0 and 1; see also :meth:`p_values`.
        """
        levels = np.asarray(confidence_level)
        levels = levels.astype(float) if levels.dtype.kind in "fiu" else np.empty(0)
        if levels.ndim > 1 or levels.size == 0 or not np.all((levels > 0.0) & (levels < 1.0)):
            raise ValueError(
                f"confidence_level={confidence_level!r} is not a level: give a number between 0 and 1, or a "
                "list of them."
            )
        p = self.p_values(X)
        # Rounding of 1 - level must not decide: 1 - 0.9 is a little less than a tenth.
        sets = p[:, :, None] > (1.0 - np.atleast_1d(levels)) * (1.0 + 1e-12)
        return sets if levels.ndim else sets[:, :, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most plausible label of each point; the decision value decides between equally plausible ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New points.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        p, values = self._p_values(X)
        best = np.where(p == p.max(axis=1, keepdims=True), values, -np.inf)
        return np.asarray(self.classes_[best.argmax(axis=1)])

    def credibility(self, X: Any) -> Array:
        """Largest p-value of each point: where it is small, the point is unlike all labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New points.

        Returns
        -------
        array of shape (n_samples,)
            The credibility.
        """
        return np.asarray(self.p_values(X).max(axis=1))

    def confidence(self, X: Any) -> Array:
        """One minus the second largest p-value: up to this level the set has at most one label.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New points.

        Returns
        -------
        array of shape (n_samples,)
            The confidence.
        """
        return np.asarray(1.0 - np.sort(self.p_values(X), axis=1)[:, -2])

    def _prepared(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """X as the machine takes it: checked, and transformed by the steps of a pipeline before it."""
        if not isinstance(self.estimator_, Pipeline):
            accepted = "csr" if get_tags(self).input_tags.sparse else False
            X = with_narrow_indices(X)
            if not reset:
                return validate_data(self, X, dtype=np.float64, accept_sparse=accepted, reset=False)
            # A copy, because the rows are compared with new points long after.
            return validate_data(self, X, y, dtype=np.float64, accept_sparse=accepted, copy=True)[0]
        validate_data(self, X, reset=reset, skip_check_array=True)
        steps = self.estimator_[:-1]
        if len(steps):
            X = steps.fit_transform(X, y) if reset else steps.transform(X)
        return with_narrow_indices(
            check_array(X, input_name="X", accept_sparse="csr", dtype=np.float64, copy=reset)
        )

    def _p_values(self, X: Any) -> tuple[Array, Array]:
        """The p-values, and the decision value for each class."""
        check_is_fitted(self)
        X = self._prepared(X, reset=False)
        n_new, n_points = X.shape[0], len(self._machine.gram)
        size = max(1, min(BLOCK, BLOCK_BYTES // (64 * (n_points + 1))))
        blocks = [slice(start, start + size) for start in range(0, n_new, size)]
        found: list[Comparison] = []
        with shown(self.verbose > 0), one_blas_thread(), step("comparing new points", n_new) as at:
            # A section of blocks at a time, so that there is progress to show.
            section = 8 * max(1, abs(self.n_jobs or 1))
            for first in range(0, len(blocks), section):
                calls = [delayed(self._compared)(X[block]) for block in blocks[first : first + section]]
                found += run_all(self.n_jobs, calls, shared=[])
                at.advance(min((first + section) * size, n_new))
        stranger, equal, values, inexact = (
            np.vstack([getattr(one, name) for one in found])
            for name in ("stranger", "equal", "values", "inexact")
        )
        if inexact.any():
            warn(
                f"With {np.count_nonzero(inexact.any(axis=1))} of the {n_new} points as one more row, the "
                "machine is not exact: the promise is approximate for these points. Either they are very far "
                "from the training data, or X needs scaling, for example with StandardScaler.",
                ConvergenceWarning,
            )
        as_strange = 1.0 + equal
        if self._smoothed:
            tau = uniforms_of_rows(told_apart(X), self._seed, len(self.classes_))
            # Whole numbers are what independent noise on all scores gives, which the proof for machines
            # without the new point needs.
            as_strange = tau * as_strange if self.score_ in EXACT else 1.0 + np.floor(tau * as_strange)
        return (stranger + as_strange) / (found[0].size + 1.0), values

    def _compared(self, X: Any) -> Comparison:
        """Compare some new points with the labelled rows."""
        machine, kernel = self._machine, self._machine.kernel
        with one_blas_thread():
            cross = [machine.cross(solution.problem, X) for solution in self._solutions]
            # Only machines with the new point need k(x, x), which may be too large for double precision.
            diagonal = kernel.diagonal(X) if self.score_ in EXACT else np.zeros(X.shape[0])
            return self._scores.compare(cross, diagonal)
