"""What estimators around other estimators share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, has_fit_parameter

__all__ = [
    "check_instance",
    "check_jobs",
    "class_costs",
    "decided",
    "fit_parameters",
    "fitted_on_rows",
    "left_out_predictions",
    "left_out_proba",
    "rows_for",
]


def check_instance(estimator: Any, name: str = "estimator") -> None:
    """Raise TypeError for a class instead of an estimator of it, and for what is no estimator."""
    if isinstance(estimator, type):
        raise TypeError(
            f"{name} is the class {estimator.__name__}: give an instance, {estimator.__name__}() say."
        )
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise TypeError(f"{name}={estimator!r} is no scikit-learn estimator: give one, BayesSVC() say.")


def check_jobs(n_jobs: int | None) -> None:
    """Raise TypeError or ValueError unless joblib can make something of a number of jobs."""
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise TypeError(
            f"n_jobs={n_jobs!r} is not a whole number: give 1 or more, -1 for all cores, or None."
        )
    if n_jobs == 0:
        raise ValueError("n_jobs=0 does nothing: give 1 or more, -1 for all cores, or None.")


def fit_parameters(estimator: Any, sample_weight: ArrayLike | None, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator's ``fit``, weights among them, where no metadata are routed.

    Raises
    ------
    ValueError
        If there are weights and ``fit`` takes none.
    """
    if sample_weight is None:
        return params
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__}.fit takes no sample_weight. For a pipeline, enable "
            "metadata routing: sklearn.set_config(enable_metadata_routing=True)."
        )
    return {"sample_weight": sample_weight, **params}


def fitted_on_rows(
    estimator: Any, X: Any, y: NDArray[Any], rows: NDArray[np.intp], params: dict[str, Any]
) -> Any:
    """A clone fitted on some rows and their part of the parameters; kernel matrices are cut on both sides."""
    model = clone(estimator)
    X_part, y_part = _safe_split(model, X, y, rows)
    return model.fit(X_part, y_part, **_check_method_params(X, params, indices=rows))


def rows_for(estimator: Any, X: Any, rows: NDArray[np.intp], train: NDArray[np.intp]) -> Any:
    """Some rows, as a clone fitted on the rows ``train`` takes them: of a kernel matrix, their columns."""
    return _safe_split(estimator, X, None, rows, train)[0]


def left_out_proba(estimator: Any) -> NDArray[np.float64] | None:
    """Left-out probabilities of a fitted classifier, or of a pipeline's last step, if it has any."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return getattr(last, "left_out_proba_", None)


def left_out_predictions(estimator: Any) -> NDArray[Any]:
    """What ``predict`` would have said of the rows left out, where there are :func:`left_out_proba`."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return np.asarray(last.classes_[decided(last.left_out_proba_, class_costs(last))])


def class_costs(estimator: Any) -> NDArray[np.float64]:
    """What a fitted classifier, or a pipeline's last step, weighs its probabilities with to predict."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return np.asarray(getattr(last, "class_weight_", np.ones(len(last.classes_))))


def decided(proba: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Class numbers of the largest cost times probability."""
    return np.asarray((costs / costs.max() * proba).argmax(axis=1), dtype=np.intp)
