"""What a search without folds can go by: a table from a criterion's name to how it scores a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.leave_one_out.estimates import span_estimate, xi_alpha
from bayes_svm.probability.evidence import log_evidence
from bayes_svm.similarity.class_similarity import class_similarity
from bayes_svm.utils.types import Array, Indices

__all__ = ["CRITERIA", "LEAST", "Criterion", "similarity"]


# The smallest probability whose logarithm is taken.
LEAST = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Criterion:
    """How a search scores a setting. Exactly one of ``losses`` and ``score`` is given.

    Parameters
    ----------
    losses : callable, optional
        ``losses(model, y)``: what each row costs when it is left out, of a fitted model and the class
        numbers of the rows. The score is minus their weighted mean.
    score : callable, optional
        ``score(model, X, y, sample_weight)`` of a fitted model; more is better.
    over_fewer_strata : bool, default=False
        Whether the losses are averaged with those of leaving out fewer and larger strata.
    gradient : callable, optional
        ``gradient(model, X, y, sample_weight)``: the score of a model that is not fitted, and its
        derivatives by the logarithms of the parameters. A search of a continuous space follows them.
    """

    losses: Callable[[BayesSVC, Indices], Array] | None = None
    score: Callable[[BayesSVC, Any, ArrayLike, ArrayLike | None], float] | None = None
    over_fewer_strata: bool = False
    gradient: Callable[..., tuple[float, dict[str, Any]]] | None = None


def _log_losses(model: BayesSVC, y: Indices) -> Array:
    own = model.left_out_proba_[np.arange(len(y)), y]
    return np.asarray(-np.log(np.clip(own, LEAST, 1.0)))


def _errors(model: BayesSVC, y: Indices) -> Array:
    return np.asarray(model.left_out_.predicted != y, dtype=np.float64)


def _evidence(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    return log_evidence(model, X, y, sample_weight=sample_weight).value


def _evidence_gradient(
    model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[float, dict[str, Any]]:
    found = log_evidence(model, X, y, sample_weight=sample_weight)
    gradient = dict(found.gradient)
    if "coef0" in gradient:
        gradient["coef0"] *= model.coef0
    return found.value, gradient


def _span(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    return -span_estimate(model, X, y, sample_weight=sample_weight).error


def _xi_alpha(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    return -xi_alpha(model, X, y, sample_weight=sample_weight).error


def similarity(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    """Class similarity of the model's kernel, less being better; the model need not be fitted."""
    names = ("kernel", "degree", "gamma", "coef0")
    parameters = {name: getattr(model, name) for name in names}
    return class_similarity(X, y, **parameters, sample_weight=sample_weight).value


def _dissimilarity(model: BayesSVC, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    return -similarity(model, X, y, sample_weight)


CRITERIA = {
    "left_out_log_loss": Criterion(losses=_log_losses, over_fewer_strata=True),
    "left_out_error": Criterion(losses=_errors),
    "evidence": Criterion(score=_evidence, gradient=_evidence_gradient),
    "span": Criterion(score=_span),
    "xi_alpha": Criterion(score=_xi_alpha),
    "class_similarity": Criterion(score=_dissimilarity),
}
