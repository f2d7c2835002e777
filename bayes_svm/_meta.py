"""What estimators around other estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, has_fit_parameter

__all__ = ["fit_parameters", "fitted_on_rows", "leave_one_out_proba"]


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


def leave_one_out_proba(estimator: Any) -> NDArray[np.float64] | None:
    """Leave-one-out probabilities of a fitted classifier, or of a pipeline's last step, if it has any."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return getattr(last, "loo_proba_", None)
