"""What estimators around other estimators share."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from bayes_svm.utils.scikit_learn import check_method_params, num_samples, safe_split
from bayes_svm.utils.warn import warn

__all__ = [
    "before_last",
    "check_instance",
    "check_jobs",
    "class_costs",
    "decided",
    "fit_parameters",
    "fitted_on_rows",
    "last_of",
    "leaving_all_out",
    "left_out_predictions",
    "left_out_proba",
    "left_out_weight",
    "rows_for",
    "split_pipeline",
    "warn_of_steps",
]


def check_instance(estimator: Any, name: str = "estimator") -> None:
    """Raise TypeError for a class in place of an instance, and for anything that is not an estimator."""
    if isinstance(estimator, type):
        raise TypeError(
            f"{name} is the class {estimator.__name__}: give an instance, such as {estimator.__name__}()."
        )
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise TypeError(
            f"{name}={estimator!r} is not a scikit-learn estimator: give one, such as BayesSVC()."
        )


def check_jobs(n_jobs: int | None) -> None:
    """Raise TypeError or ValueError unless joblib accepts the number of jobs."""
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise TypeError(
            f"n_jobs={n_jobs!r} is not a whole number: give 1 or more, -1 for all cores, or None."
        )
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not a number of jobs: give 1 or more, -1 for all cores, or None.")


def fit_parameters(estimator: Any, sample_weight: ArrayLike | None, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator's ``fit``, sample weights included, without metadata routing.

    Raises
    ------
    ValueError
        If there are sample weights and ``fit`` takes none.
    """
    if sample_weight is None:
        return params
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__}.fit takes no sample_weight. For a pipeline, name the step, such as "
            "bayessvc__sample_weight=. Around a search, sklearn.set_config(enable_metadata_routing=True) "
            "passes them on."
        )
    return {"sample_weight": sample_weight, **params}


def fitted_on_rows(
    estimator: Any, X: Any, y: NDArray[Any], rows: NDArray[np.intp], params: dict[str, Any]
) -> Any:
    """A clone fitted on some rows, with their part of the parameters of ``fit``.

    Of a kernel matrix it gets the rows and the columns. A dict of class weights that names a class
    of y which the rows lack is completed, for the estimator to accept it.

    Raises
    ------
    ValueError
        If there are weights or groups, and not one for each row.
    """
    for name, values in params.items():
        of_rows = name.split("__")[-1] in ("sample_weight", "groups")
        counted = of_rows and values is not None and not isinstance(values, Real)
        if counted and num_samples(values) != len(y):
            raise ValueError(f"{name} has {num_samples(values)} entries, and there are {len(y)} rows.")
    model = _knowing_all_classes(clone(estimator), y, rows)
    X_part, y_part = safe_split(model, X, y, rows)
    return model.fit(X_part, y_part, **check_method_params(X, params, indices=rows))


def _knowing_all_classes(estimator: Any, y: NDArray[Any], rows: NDArray[np.intp]) -> Any:
    """The estimator; dicts of class weights that name classes of y which the rows lack name all classes of y.

    An estimator accepts classes that it does not see if a dict names those that it sees, too.
    """
    for name, given in estimator.get_params().items():
        if name.split("__")[-1] == "class_weight" and isinstance(given, Mapping):
            known, seen = dict.fromkeys(y.tolist(), 1.0), set(y[rows].tolist())
            if given.keys() <= known.keys() and not given.keys() <= seen:
                estimator.set_params(**{name: known | dict(given)})
    return estimator


def rows_for(estimator: Any, X: Any, rows: NDArray[np.intp], train: NDArray[np.intp]) -> Any:
    """Some rows, for a clone fitted on the rows ``train``: of a kernel matrix, the columns ``train``."""
    return safe_split(estimator, X, None, rows, train)[0]


def unfrozen(estimator: Any) -> Any:
    """What is inside FrozenEstimator, or the estimator itself."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def last_of(estimator: Any) -> Any:
    """The last step of a pipeline; any other estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def before_last(pipeline: Any, X: Any) -> Any:
    """X transformed by all steps of a fitted pipeline but the last; X itself for any other estimator."""
    pipeline = unfrozen(pipeline)
    several = isinstance(pipeline, Pipeline) and len(pipeline.steps) > 1
    return pipeline[:-1].transform(X) if several else X


def warn_of_steps(estimator: Any, what: str) -> None:
    """Warn that the steps of a pipeline before the last, if there are any, are fitted once, on all rows."""
    estimator = getattr(estimator, "estimator", estimator)  # a search around a pipeline
    if not isinstance(estimator, Pipeline):
        return
    names = [name for name, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    if names:
        warn(
            f"The steps before {type(estimator[-1]).__name__} ({', '.join(names)}) are fitted once, on all "
            f"rows: {what} are those of the last step alone."
        )


def split_pipeline(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Any, Any]:
    """The last step of a pipeline, X as it reaches it, and the fitted steps before it.

    The steps before are fitted to all rows, unless the pipeline is fitted. For another estimator there are
    none: None.
    """
    if not isinstance(estimator, Pipeline) or len(estimator.steps) == 1:
        return last_of(estimator), X, None
    before, last = estimator[:-1], estimator[-1]
    if hasattr(last, "classes_"):
        return last, before.transform(X), before
    before = clone(before)
    return last, before.fit_transform(X, y), before


def leaving_all_out(estimator: Any) -> Any:
    """A clone in which every BayesSVC leaves out all rows, whatever its ``leave_out_size``."""
    model = clone(estimator)
    sizes = [name for name in model.get_params() if name.split("__")[-1] == "leave_out_size"]
    return model.set_params(**dict.fromkeys(sizes)) if sizes else model


def left_out_proba(estimator: Any) -> NDArray[np.float64] | None:
    """Left-out probabilities of a fitted classifier or a pipeline's last step; None if it has none.

    Those of a frozen classifier are of the rows that it was fitted to, and not of those that are given now.
    """
    last = last_of(estimator)
    return None if isinstance(last, FrozenEstimator) else getattr(last, "left_out_proba_", None)


def left_out_weight(estimator: Any) -> NDArray[np.float64] | None:
    """How often each row of a fitted BayesSVC, or of a pipeline's last step, counts when left out.

    That is its sample weight, times the share of its copies that left. None for other classifiers.
    """
    last = last_of(estimator)
    return getattr(getattr(last, "left_out_", None), "weight", None)


def left_out_predictions(estimator: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Labels that ``predict`` would give from some rows' left-out probabilities of a fitted classifier."""
    last = last_of(estimator)
    return np.asarray(last.classes_[decided(last.left_out_proba_[rows], class_costs(last))])


def class_costs(estimator: Any) -> NDArray[np.float64]:
    """Class weights by which a fitted classifier or a pipeline's last step multiplies its probabilities."""
    last = last_of(estimator)
    return np.asarray(getattr(last, "class_weight_", np.ones(len(last.classes_))))


def decided(proba: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Numbers of the classes of largest cost times probability."""
    return np.asarray((costs * proba).argmax(axis=1), dtype=np.intp)
