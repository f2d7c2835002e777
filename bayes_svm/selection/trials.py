"""One setting after the other fitted and scored: the trials of a search without folds."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.dual.machine import Machine
from bayes_svm.leave_one_out.cases import Leaving, strata, strata_of_groups, what_leaves
from bayes_svm.leave_one_out.estimates import span_estimate, xi_alpha
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.probability.evidence import log_evidence
from bayes_svm.probability.link import LinkData
from bayes_svm.similarity.class_similarity import class_similarity
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = [
    "LEAST",
    "Data",
    "LeftOut",
    "Trial",
    "by_kernel",
    "class_similarity_of",
    "last_step",
    "prefix_of",
    "say",
    "try_one",
    "try_same_kernel",
]

Parameters = dict[str, Any]

ROW_BY_ROW = ("left_out_log_loss", "left_out_error")  # criteria that are means over the rows
FEW = 5  # strata that are left out besides: fewer and larger, whose values vary less from setting to setting
FOLDS = 3  # of the strata, without each of which a choice is made anew: see BayesSVCSearch
LEAST = float(np.finfo(float).eps)  # of a probability


class Data(NamedTuple):
    """What every setting is fitted to: the arguments of ``fit``."""

    X: Any
    y: ArrayLike
    sample_weight: ArrayLike | None = None
    groups: ArrayLike | None = None


@dataclass(frozen=True)
class Trial:
    """One setting: its score, of which more is better, its seconds, and the fitted model if kept.

    Parameters
    ----------
    logs : array of shape (n_samples, n_classes), optional
        Left-out log-probabilities.
    losses : array of shape (n_samples,), optional
        Of a criterion that is a mean over the rows: minus the score is their weighted mean.
    left_out : LeftOut, optional
        What the link was fitted to.
    """

    parameters: Parameters
    score: float
    seconds: float
    model: Any
    logs: Array | None = None
    losses: Array | None = None
    left_out: LeftOut | None = None


@dataclass(frozen=True)
class LeftOut:
    """What a link was fitted to, and some folds of it.

    Parameters
    ----------
    leaving : Leaving
    data : LinkData
    part_shares : array of shape (n_parts, n_folds)
        Which share of each part is in each fold.
    """

    leaving: Leaving
    data: LinkData
    part_shares: Array

    @classmethod
    def of(cls, leaving: Leaving, data: LinkData, machine: Machine, like: LeftOut | None) -> LeftOut:
        """With the arrays of another setting where they are the same: there may be many settings."""
        if like is None or not all(
            np.array_equal(getattr(leaving, name), getattr(like.leaving, name))
            for name in ("kind", "case", "part_kind", "copies", "times")
        ):
            return cls(leaving, data, leaving.part_shares(FOLDS, machine))
        same = replace(data, y=like.data.y, weight=like.data.weight, folds=like.data.folds)
        return cls(like.leaving, same, like.part_shares)

    def row_shares(self) -> Array:
        """Which share of each row is in each fold, shape (n_samples, n_folds); 0 if it is in none."""
        absent = np.zeros((len(self.leaving.kind), self.part_shares.shape[1]))
        return self.leaving.row_means(self.part_shares, absent)

    def crossed_proba(self, model: BayesSVC) -> Array:
        """Left-out probabilities of the rows, each by the link that is fitted without the row's fold.

        Warns
        -----
        UserWarning
            If a calibrator cannot be fitted without a fold, or says NaN of it: the probabilities are then
            by the one that has seen all rows.
        """
        try:
            told = sum(
                own[:, None] * model._calibration.proba_without(self.data, own, model._probabilities)
                for own in self.part_shares.T
            )
        except ValueError as error:
            if isinstance(model.link, str):
                raise
            warn(
                f"link={model.link} fails where a third of the strata is left out, so that what the search "
                f"tells of itself is by the one that has seen every row: {error}"
            )
            return np.asarray(model.left_out_proba_)
        return self.leaving.row_means(np.asarray(told), model.left_out_proba_)


def last_step(estimator: Any) -> BayesSVC:
    """The BayesSVC that an estimator is or ends in."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, BayesSVC):
        raise TypeError(
            f"estimator is a {type(last).__name__}: BayesSVCSearch needs a BayesSVC, or a Pipeline that "
            "ends in one."
        )
    return last


def prefix_of(estimator: Any) -> str:
    """What stands before the parameters of the BayesSVC."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""


def _with(estimator: Any, setting: Parameters) -> Any:
    """A clone of the estimator with clones of a setting's values."""
    return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in setting.items()})


def _transformed(whole: Any, X: Any, y: ArrayLike) -> Any:
    """X after the steps before the last."""
    several = isinstance(whole, Pipeline) and len(whole.steps) > 1
    return whole[:-1].fit_transform(X, y) if several else X


def by_kernel(settings: list[Parameters], name_of_C: str) -> list[list[int]]:
    """Numbers of the settings that differ in C alone, smallest C first."""
    groups: list[tuple[Parameters, list[int]]] = []
    for k, setting in enumerate(settings):
        rest = {name: value for name, value in setting.items() if name != name_of_C}
        for known, group in groups:
            if known.keys() == rest.keys() and all(_equal(known[name], rest[name]) for name in rest):
                group.append(k)
                break
        else:
            groups.append((rest, [k]))
    return [sorted(group, key=lambda k: settings[k].get(name_of_C, 0.0)) for _, group in groups]


def _equal(one: Any, other: Any) -> bool:
    """Whether two values of a grid are surely the same: the same object, or equal numbers or texts."""
    plain = (str, int, float, bool)
    return one is other or (type(one) is type(other) and isinstance(one, plain) and one == other)


def try_same_kernel(
    estimator: Any, settings: list[Parameters], data: Data, criterion: str, verbose: bool
) -> list[Trial]:
    """Trials that share the kernel matrix; each solution is where the next one starts."""
    X, y, sample_weight, groups = data
    trials: list[Trial] = []
    machine, starts, before, left_out = None, None, None, None
    for setting in settings:
        started = time.perf_counter()
        whole = _with(estimator, setting)
        model = last_step(whole)
        model._validate_params()
        if isinstance(whole, Pipeline) and len(whole.steps) > 1:
            if before is None:
                before = whole[:-1]
                X = before.fit_transform(X, y)
            whole.steps[:-1] = before.steps
        with one_blas_thread():
            machine = model._machine(X, y, sample_weight, like=machine)
            numbers = group_numbers(groups, len(machine.y))
            leaving = what_leaves(machine, model.leave_out, y, numbers)
            link_data = model._fit(machine, leaving, numbers, starts)
            solutions = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
            optima = [solution.beta for solution in solutions]
            losses = _losses(model, machine, criterion)
            if criterion == "left_out_log_loss" and model.leave_out == "strata" and leaving.times.sum() > FEW:
                few = clone(model)
                few.class_weight_ = model.class_weight_
                fewer = strata(machine, FEW) if numbers is None else strata_of_groups(machine, numbers, FEW)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # of a link that nobody uses
                    few._fit(machine, fewer, numbers, optima)
                losses = (losses + _losses(few, machine, criterion)) / 2.0
            # Where there is no optimum, what is found depends on where the solver starts.
            starts = optima if machine.convex else None
            if criterion in ROW_BY_ROW:
                score = -float(np.average(losses, weights=machine.weight))
            else:
                score = _score(model, Data(X, y, sample_weight), criterion)
        with np.errstate(divide="ignore"):
            logs = np.log(model.left_out_proba_)
        left_out = LeftOut.of(leaving, link_data, machine, left_out)
        seconds = time.perf_counter() - started
        kept = losses if criterion in ROW_BY_ROW else None
        trials.append(Trial(setting, score, seconds, whole, logs, kept, left_out))
        if verbose:
            say(trials[-1], criterion)
    return trials


def class_similarity_of(estimator: Any, setting: Parameters, data: Data) -> float:
    """Of one setting, nothing but the steps before the BayesSVC being fitted."""
    whole = _with(estimator, setting)
    return _similarity_of(last_step(whole), data._replace(X=_transformed(whole, data.X, data.y)))


def _similarity_of(model: BayesSVC, data: Data) -> float:
    names = ("kernel", "degree", "gamma", "coef0")
    parameters = {name: getattr(model, name) for name in names}
    return class_similarity(data.X, data.y, **parameters, sample_weight=data.sample_weight).value


def _losses(model: BayesSVC, machine: Machine, criterion: str) -> Array:
    """What each row costs, left out: an error, or its log loss."""
    if criterion == "left_out_error":
        return np.asarray(model.left_out_.predicted != machine.y, dtype=np.float64)
    own = model.left_out_proba_[np.arange(len(machine.y)), machine.y]
    return np.asarray(-np.log(np.clip(own, LEAST, 1.0)))


def _score(model: BayesSVC, data: Data, criterion: str) -> float:
    """Of a fitted model, more being better."""
    if criterion == "evidence":
        return log_evidence(model, data.X, data.y, sample_weight=data.sample_weight).value
    if criterion == "class_similarity":
        return -_similarity_of(model, data)
    estimate = span_estimate if criterion == "span" else xi_alpha
    return -estimate(model, data.X, data.y, sample_weight=data.sample_weight).error


def try_one(
    estimator: Any, setting: Parameters, data: Data, criterion: str
) -> tuple[Trial, Mapping[str, Any] | None]:
    """One setting, and the gradient of its score by logarithms where the criterion has one."""
    if criterion != "evidence":
        [trial] = try_same_kernel(estimator, [setting], data, criterion, verbose=False)
        return trial, None
    started = time.perf_counter()
    whole = _with(estimator, setting)
    model = last_step(whole)
    X = _transformed(whole, data.X, data.y)
    found = log_evidence(model, X, data.y, sample_weight=data.sample_weight)
    gradient = dict(found.gradient)
    if "coef0" in gradient:
        gradient["coef0"] *= model.coef0
    return Trial(setting, found.value, time.perf_counter() - started, None), gradient


def say(trial: Trial, criterion: str) -> None:
    """Print a setting and its score to stderr."""
    setting = ", ".join(f"{name}={value}" for name, value in trial.parameters.items())
    print(
        f"[BayesSVCSearch] {setting}: {criterion} {abs(trial.score):.6g}, {trial.seconds:.2f} s",
        file=sys.stderr,
        flush=True,
    )
