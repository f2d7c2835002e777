"""Fitting a classifier, and its answers to points that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from bayes_svm.decision.answers import Answers, answers, confidence_of
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.utils.metaestimators import (
    fit_parameters,
    fitted_on_rows,
    left_out_predictions,
    left_out_proba,
    left_out_weight,
)
from bayes_svm.utils.scikit_learn import BaseSearchCV, RealNotInt, routing_enabled, safe_split
from bayes_svm.utils.types import Array, Indices

__all__ = [
    "UnseenAnswers",
    "fit_and_answer",
    "given_as",
    "is_fitted_already",
    "routed_parameters",
    "weight_of_rows",
]

# Share of the rows that is held out where answers are needed and ``cv`` says nothing.
HELD_OUT = 0.2


@dataclass(frozen=True)
class UnseenAnswers:
    """A fitted classifier and its answers to rows that it was not trained on.

    Parameters
    ----------
    estimator : classifier
        The fitted classifier.
    source : {"left-out", "held-out", "cross-validation", "nothing"}
        Where the answers come from.
    answers : (labels, confidence) or None
        The answers; None if ``source`` is "nothing".
    rows : array of int
        The rows that were answered.
    groups : array or None
        Group of each row that was answered; None if the rows have no groups.
    share : array or None
        Of equal rows of which only some left, each was answered and counts for this share; 1 for others.
        None if it is 1 for all.
    """

    estimator: Any
    source: str
    answers: Answers | None
    rows: Indices
    groups: NDArray[Any] | None = None
    share: Array | None = None


def fit_and_answer(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    routed: tuple[dict[str, Any], dict[str, Any]],
    *,
    used: Indices,
    cv: Any,
    random_state: Any,
    required: bool,
) -> UnseenAnswers:
    """Fit a classifier, and answer rows that it was not trained on.

    Parameters
    ----------
    estimator : classifier
        What to fit; fitted already if ``cv`` is "prefit".
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
        Labels.
    routed : (dict, dict)
        Parameters of the estimator's ``fit`` and of the splitter.
    used : array of int
        The rows of weight above 0. Only they are drawn to be held out, or into folds.
    cv : None, "prefit", float, int, splitter or iterable of splits
        As :class:`~bayes_svm.RejectOptionClassifier` describes it.
    random_state : int, RandomState instance or None
        Seed of the split if one part is held out; None means 0.
    required : bool
        Whether answers are needed. If not, and ``cv`` is None, no rows are held out for them.

    Returns
    -------
    UnseenAnswers
        The fitted classifier, its answers and their rows.

    Raises
    ------
    ValueError
        If the splitter divides groups, or does not test every row, or if one part is to be held out for an
        estimator that is given kernel matrices.
    """
    fit_params, split_params = routed
    every_row = np.arange(len(y))
    labels = split_params.get("groups", given_as("groups", fit_params))
    groups = group_numbers(labels, len(y))
    if is_fitted_already(estimator, cv):
        check_is_fitted(estimator)
        return UnseenAnswers(estimator, "held-out", answers(estimator, X), every_row, groups)
    if cv is None:
        fitted = clone(estimator).fit(X, y, **fit_params)
        proba = left_out_proba(fitted)
        if proba is not None:
            if "groups" in split_params:
                raise ValueError(
                    f"{type(estimator).__name__}.fit takes no groups, and its left-out rows would be single "
                    "ones: name the step that takes them, such as bayessvc__groups=, or give a cv."
                )
            rows = np.flatnonzero(~np.isnan(proba[:, 0]))
            predicted = left_out_predictions(fitted, rows)
            found = predicted, confidence_of(predicted, proba[rows], fitted.classes_)
            share = _share_left(fitted, weight_of_rows(estimator, fit_params, cv), rows)
            return UnseenAnswers(fitted, "left-out", found, rows, _at(groups, rows), share)
        if not required:
            return UnseenAnswers(fitted, "nothing", None, every_row)
        cv = HELD_OUT
    if isinstance(cv, RealNotInt):
        seed = 0 if random_state is None else random_state
        return _hold_out(estimator, X, y, fit_params, float(cv), seed, groups, used)
    if isinstance(cv, Integral):
        folds = int(cv) if groups is None else StratifiedGroupKFold(int(cv))
        splits = _drawn(check_cv(folds, y[used], classifier=True), y, groups, used)
        return _cross_validate(estimator, X, y, fit_params, splits, groups, used)
    if groups is not None and not routing_enabled():
        split_params = {"groups": labels}
    splits = check_cv(cv, y, classifier=True).split(X, y, **split_params)
    return _cross_validate(estimator, X, y, fit_params, splits, groups, every_row)


def _drawn(splitter: Any, y: NDArray[Any], groups: Any, used: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Splits of the rows that are used, as numbers of rows."""
    within = None if groups is None else groups[used]
    for train, test in splitter.split(np.zeros(len(used)), y[used], within):
        yield used[train], used[test]


def _hold_out(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fit_params: dict[str, Any],
    share: float,
    seed: Any,
    groups: Any,
    used: Indices,
) -> UnseenAnswers:
    """Hold one part out: whole groups if there are groups."""
    if get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            "With a precomputed kernel no part is held out, as the estimator would not be fitted to all "
            "columns of the kernel matrix: give cv an int, or leave rows out with bayes_svm.BayesSVC."
        )
    split = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
    if groups is not None:
        split = StratifiedGroupKFold(max(2, round(1 / share)), shuffle=True, random_state=seed)
    try:
        train, test = next(_drawn(split, y, groups, used))
    except ValueError as error:
        raise ValueError(f"cv={share:g} cannot hold a part of these rows out: {error}") from error
    fitted = fitted_on_rows(estimator, X, y, train, fit_params)
    X_test, _ = safe_split(fitted, X, y, test, train)
    return UnseenAnswers(fitted, "held-out", answers(fitted, X_test), test, _at(groups, test))


def _cross_validate(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fit_params: dict[str, Any],
    splits: Iterable[tuple[Any, Any]],
    groups: Any,
    rows: Indices,
) -> UnseenAnswers:
    """Answer rows by clones trained without their fold; the estimator itself is fitted to all rows."""
    predicted, confidence = y.copy(), np.full(len(y), np.nan)
    for train, test in splits:
        if groups is not None and np.isin(groups[test], groups[train]).any():
            raise ValueError(
                "cv trains and predicts on rows of the same groups: use a splitter that keeps groups whole, "
                "such as StratifiedGroupKFold."
            )
        model = fitted_on_rows(estimator, X, y, train, fit_params)
        X_test, _ = safe_split(model, X, y, test, train)
        predicted[test], confidence[test] = answers(model, X_test)
    if np.isnan(confidence[rows]).any():
        raise ValueError("cv must predict every point: use a splitter whose test sets cover all rows.")
    fitted = clone(estimator).fit(X, y, **fit_params)
    found = predicted[rows], confidence[rows]
    return UnseenAnswers(fitted, "cross-validation", found, rows, _at(groups, rows))


def _share_left(fitted: Any, sample_weight: Any, rows: Indices) -> Array | None:
    """Share of each row's copies that left; None if all did, or the classifier does not say."""
    left = left_out_weight(fitted)
    if left is None:
        return None
    given = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=float)
    weight = np.broadcast_to(given, len(left))
    share = np.ones(len(rows))
    np.divide(left[rows], weight[rows], out=share, where=weight[rows] > 0)
    return share if share.min(initial=1.0) < 1.0 else None


def _at(groups: Any, rows: Indices) -> Any:
    return None if groups is None else groups[rows]


def is_fitted_already(estimator: Any, cv: Any) -> bool:
    """Whether all rows are held out: with ``cv="prefit"``, and of a frozen estimator without a ``cv``."""
    return isinstance(cv, str) or (cv is None and isinstance(estimator, FrozenEstimator))


def routed_parameters(
    model: Any, sample_weight: Any, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the estimator's ``fit`` and of the splitter.

    Parameters
    ----------
    model : RejectOptionClassifier
        Whose ``fit`` was called.
    sample_weight : array of shape (n_samples,) or None
        Weights of the rows.
    params : dict
        Other parameters of ``fit``.

    Returns
    -------
    (dict, dict)
        The parameters.

    Raises
    ------
    TypeError
        For parameters that nothing reads, because the estimator is fitted already.
    ValueError
        If there are weights, and the estimator takes none.
    """
    if routing_enabled() and not is_fitted_already(model.estimator, model.cv):
        given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
        routed = process_routing(model, "fit", **given)
        splitter = getattr(routed, "splitter", None)
        return routed.estimator.fit, {} if splitter is None else splitter.split
    if is_fitted_already(model.estimator, model.cv):
        unknown = [name for name in params if name.split("__")[-1] not in ("groups", "sample_weight")]
        if unknown:
            raise TypeError(
                f"fit got {', '.join(unknown)}: with an estimator that is fitted already, only sample_weight "
                "and groups count."
            )
        return params, {}
    given = fit_parameters(model.estimator, sample_weight, params)
    # A search takes groups for its own folds, under no name in the signature of its fit.
    takes_groups = has_fit_parameter(model.estimator, "groups") or isinstance(model.estimator, BaseSearchCV)
    if "groups" not in given or takes_groups:
        return given, {}
    return {name: given[name] for name in given if name != "groups"}, {"groups": given["groups"]}


def given_as(name: str, fit_params: dict[str, Any]) -> Any:
    """A parameter of ``fit``, the estimator's own or that of a pipeline's step; None if it is not given.

    Parameters
    ----------
    name : str
        Its name: "groups".
    fit_params : dict
        Parameters of ``fit``.
    """
    given = (one for key, one in fit_params.items() if key == name or key.endswith(f"__{name}"))
    return next((one for one in given if one is not None), None)


def weight_of_rows(estimator: Any, fit_params: dict[str, Any], cv: Any = None) -> Any:
    """The sample weights that an estimator's ``fit`` gets, a pipeline's last step; None if there are none.

    Those of other steps, such as a scaler, do not say how often a row counts.

    Parameters
    ----------
    estimator : classifier
        What is fitted.
    fit_params : dict
        Parameters of its ``fit``.
    cv : None, "prefit", float, int, splitter or iterable of splits
        Nothing is routed to an estimator that is fitted already.
    """
    ready = is_fitted_already(estimator, cv)
    if isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if not isinstance(estimator, Pipeline):
        return fit_params.get("sample_weight")
    name, last = estimator.steps[-1]
    if routing_enabled() and not ready:
        return weight_of_rows(last, process_routing(estimator, "fit", **fit_params)[name].fit)
    own = f"{name}__"
    inner = {key.removeprefix(own): one for key, one in fit_params.items() if key.startswith(own)}
    return weight_of_rows(last, inner, cv)
