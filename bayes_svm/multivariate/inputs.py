"""What MultivariateSVC is given, checked: dense, sparse and dask."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm.kernels.kernel import Kernel
from bayes_svm.multivariate.dask_arrays import check_dask, is_dask_array
from bayes_svm.multivariate.products import refuse_huge
from bayes_svm.utils.checks import checked_square

__all__ = ["checked_points", "checked_training"]


def checked_training(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Training data.

    Parameters
    ----------
    estimator : MultivariateSVC
        The estimator, which is told the number and names of the features.
    X, y
        As in its ``fit``.

    Returns
    -------
    X : array, CSR or CSC matrix, or dask array
        The rows.
    y : array
        The labels.

    Raises
    ------
    ValueError
        If they are not what ``fit`` takes.
    """
    y = y.toarray() if issparse(y) else y
    kernel = Kernel(estimator.kernel)
    if is_dask_array(X):
        _refuse_dask(kernel)
        X, y = check_dask(X), np.asarray(y)
        check_consistent_length(X, y)
        estimator.n_features_in_ = int(X.shape[1])
        return X, y
    X, y = validate_data(
        estimator, X, y, dtype=np.float64, accept_sparse=_accepted(kernel), multi_output=True,
        accept_large_sparse=True,
    )  # fmt: skip
    if kernel.precomputed:
        checked_square(X, X.shape[1])
    refuse_huge(X)
    return X, y


def checked_points(estimator: Any, X: Any) -> Any:
    """Points to predict.

    Parameters
    ----------
    estimator : MultivariateSVC
        The fitted estimator.
    X
        As in its ``predict``.

    Raises
    ------
    ValueError
        If X is not as in ``fit``.
    """
    check_is_fitted(estimator)
    if is_dask_array(X):
        _refuse_dask(estimator._kernel)
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but MultivariateSVC is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        return check_dask(X, finite=False)  # a pass over all blocks; their values tell
    return validate_data(
        estimator, X, dtype=np.float64, accept_sparse=_accepted(estimator._kernel), accept_large_sparse=True,
        reset=False,
    )  # fmt: skip


def _refuse_dask(kernel: Kernel) -> None:
    if not kernel.is_linear:
        raise ValueError("A dask array needs kernel='linear': other kernels need all pairs of rows.")


def _accepted(kernel: Kernel) -> bool | list[str]:
    """The sparse formats that data are taken in."""
    return False if kernel.precomputed else ["csr", "csc"]
