"""Trials of a search without folds: settings, what was left out for them, and how they are told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.dual.machine import Machine
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.probability.link import LinkData
from bayes_svm.selection.criteria import similarity
from bayes_svm.utils.progress import say
from bayes_svm.utils.scikit_learn import routing_enabled
from bayes_svm.utils.types import Array

__all__ = [
    "Data",
    "LeftOut",
    "Parameters",
    "Trial",
    "by_kernel",
    "check_requests",
    "class_similarity_of",
    "fit_transformed",
    "last_step",
    "prefix_of",
    "tell",
]

Parameters = dict[str, Any]

# The strata are dealt to this many folds, and the choice is made anew without each: see BayesSVCSearch.
FOLDS = 3


class Data(NamedTuple):
    """What every setting is fitted to: the arguments of ``fit``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
        Labels.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    groups : array of shape (n_samples,), optional
        Labels of groups that are left out whole.
    """

    X: Any
    y: ArrayLike
    sample_weight: ArrayLike | None = None
    groups: ArrayLike | None = None

    def metadata(self) -> dict[str, Any]:
        """The weights and the groups, where they are given."""
        given = {"sample_weight": self.sample_weight, "groups": self.groups}
        return {name: values for name, values in given.items() if values is not None}


@dataclass(frozen=True)
class Trial:
    """One setting that was tried.

    Parameters
    ----------
    parameters : dict
        The setting.
    score : float
        Its score; more is better.
    seconds : float
        Wall time.
    model : BayesSVC or Pipeline or None
        The fitted model; None if none was kept.
    logs : array of shape (n_samples, n_classes), optional
        Left-out log-probabilities.
    losses : array of shape (n_samples,), optional
        What each row costs when it is left out, if the score is minus the weighted mean of that.
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
    """What a link was fitted to, divided into folds.

    Parameters
    ----------
    leaving : Leaving
        What left together.
    data : LinkData
        The left-out values, and what else the link was fitted to.
    part_shares : array of shape (n_parts, n_folds)
        Share of each part that is in each fold.
    """

    leaving: Leaving
    data: LinkData
    part_shares: Array

    @classmethod
    def of(
        cls, leaving: Leaving, data: LinkData, machine: Machine, grouped: bool, like: LeftOut | None
    ) -> LeftOut:
        """Divide into folds. Equal arrays of another setting are shared, to save memory."""
        if like is None or not all(
            np.array_equal(getattr(leaving, name), getattr(like.leaving, name))
            for name in ("kind", "case", "part_kind", "copies", "times")
        ):
            return cls(leaving, data, leaving.part_shares(FOLDS, machine, grouped))
        same = replace(data, y=like.data.y, weight=like.data.weight, folds=like.data.folds)
        return cls(like.leaving, same, like.part_shares)

    def row_shares(self) -> Array:
        """Share of each row that is in each fold, shape (n_samples, n_folds); 0 for rows in no fold."""
        absent = np.zeros((len(self.leaving.kind), self.part_shares.shape[1]))
        return self.leaving.row_means(self.part_shares, absent)

    def crossed_proba(self, model: BayesSVC) -> Array:
        """Left-out probabilities of the rows, each by the link that is fitted without the row's fold."""
        told = model._calibration.proba_across(self.data, self.part_shares, model._probabilities)
        return self.leaving.row_means(told, model.left_out_proba_)


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
    """Prefix of the BayesSVC's parameters: the name of its step and two underscores, in a pipeline."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""


def with_setting(estimator: Any, setting: Parameters) -> Any:
    """A clone of the estimator with clones of a setting's values."""
    return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in setting.items()})


def check_requests(model: BayesSVC, data: Data) -> None:
    """Raise ValueError if metadata routing is to keep weights or groups from the BayesSVC."""
    if not routing_enabled():
        return
    requests = model.get_metadata_routing().fit.requests
    for name in data.metadata():
        if requests.get(name, True) not in (True, None):
            raise ValueError(
                f"{name} is what BayesSVCSearch gives to its BayesSVC, but set_fit_request({name}="
                f"{requests[name]!r}) says otherwise: request it with True, or pass none."
            )


def fit_transformed(before: Pipeline, data: Data) -> Any:
    """X transformed by steps, which are fitted to it; by metadata routing they get what they request."""
    given = data.metadata() if routing_enabled() else {}
    wanted = before.get_metadata_routing().consumes("fit_transform", given) if given else ()
    return before.fit_transform(data.X, data.y, **{name: given[name] for name in wanted})


def transformed(whole: Any, data: Data) -> Any:
    """X transformed by the steps of a pipeline before the last."""
    several = isinstance(whole, Pipeline) and len(whole.steps) > 1
    return fit_transformed(whole[:-1], data) if several else data.X


def by_kernel(settings: list[Parameters], name_of_C: str) -> list[list[int]]:
    """Groups of settings that differ in C alone: their numbers, smallest C first."""
    groups: list[tuple[Parameters, list[int]]] = []
    for k, setting in enumerate(settings):
        rest = {name: value for name, value in setting.items() if name != name_of_C}
        for known, group in groups:
            if known.keys() == rest.keys() and all(_equal(known[name], rest[name]) for name in rest):
                group.append(k)
                break
        else:
            groups.append((rest, [k]))
    # What is no number is refused by the estimator.
    sizes = [float(C) if isinstance(C := one.get(name_of_C), Real) else 0.0 for one in settings]
    return [sorted(group, key=sizes.__getitem__) for _, group in groups]


def _equal(one: Any, other: Any) -> bool:
    """Whether two values of a grid are the same object, or equal numbers or strings of one type."""
    plain = (str, int, float, bool)
    return one is other or (type(one) is type(other) and isinstance(one, plain) and one == other)


def class_similarity_of(estimator: Any, setting: Parameters, data: Data) -> float:
    """Class similarity of a setting's kernel, for which only the steps before the BayesSVC are fitted."""
    whole = with_setting(estimator, setting)
    return similarity(last_step(whole), transformed(whole, data), data.y, data.sample_weight)


def tell(trial: Trial, criterion: str) -> None:
    """Print a setting and its score to stderr."""
    setting = ", ".join(f"{name}={value}" for name, value in trial.parameters.items())
    say(f"[BayesSVCSearch] {setting}: score {trial.score:.6g} ({criterion}), {trial.seconds:.2f} s")
