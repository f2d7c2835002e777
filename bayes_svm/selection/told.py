"""What a search tells of its choice: the choice made anew without each fold of the strata."""

from __future__ import annotations

import numpy as np

from bayes_svm.selection.mixture import pooled, stacking_weights
from bayes_svm.selection.trials import Trial, last_step
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.types import Array, Indices

__all__ = ["crossed_proba", "first_best", "told_of_choice", "told_of_mixture"]


# Scores that differ by this share of the best one are equal.
TIE = 1e-9


def first_best(scores: Array) -> int:
    """Number of the first score that is the best but for rounding."""
    best = float(scores.max())
    return int(np.flatnonzero(scores >= best - TIE * abs(best))[0])


def crossed_proba(trial: Trial) -> Array:
    """Left-out probabilities of the rows, each by the link that is fitted without the row's fold."""
    assert trial.left_out is not None
    return _at_most_one(trial.left_out.crossed_proba(last_step(trial.model)))


def told_of_choice(trials: list[Trial], y: Indices, weight: Array, best: Trial) -> tuple[Array, Array]:
    """Left-out probabilities and errors of the rows, each by the setting chosen without the row's fold.

    Parameters
    ----------
    trials : list of Trial
        The fitted settings, with the losses of the rows.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        Sample weights.
    best : Trial
        The setting chosen on all rows. Rows that are in no fold get its probabilities.

    Returns
    -------
    proba : array of shape (n_samples, n_classes)
        Left-out probabilities.
    wrong : array of shape (n_samples,)
        Share of the row's copies whose prediction is wrong.
    """
    assert best.left_out is not None
    assert best.logs is not None
    losses = np.array([trial.losses for trial in trials])
    shares = best.left_out.row_shares()
    first = [first_best(-losses @ (weight * (1.0 - own))) for own in shares.T]
    probas = {k: crossed_proba(trials[k]) for k in set(first)}
    told = np.where(shares.sum(axis=1, keepdims=True) > 0.0, 0.0, np.exp(best.logs))
    wrong = np.zeros(len(y))
    for k, own in zip(first, shares.T, strict=True):
        told += own[:, None] * probas[k]
        wrong += own * (decided(probas[k], last_step(trials[k].model).class_weight_) != y)
    return _at_most_one(told), wrong


def told_of_mixture(
    trials: list[Trial], y: Indices, weight: Array, base: Array, best: Trial
) -> tuple[Array, Array]:
    """Left-out probabilities of the rows, each by the mixture fitted without the row's fold.

    Parameters
    ----------
    trials : list of Trial
        The fitted settings.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        Sample weights.
    base : array of shape (n_classes,)
        Logarithms of the classes' shares.
    best : Trial
        The best setting, whose folds are used.

    Returns
    -------
    proba : array of shape (n_samples, n_classes)
        Left-out probabilities.
    weights : array of shape (n_trials,)
        Weights of the settings in the mixture fitted on all rows.
    """
    assert best.left_out is not None
    logs, used = np.stack([trial.logs for trial in trials if trial.logs is not None]), weight > 0.0
    shares = best.left_out.row_shares()
    weights, *without = [
        stacking_weights(logs[:, used], y[used], kept[used], base)
        for kept in (weight, *(weight * (1.0 - shares.T)))
    ]
    told = np.where(shares.sum(axis=1, keepdims=True) > 0.0, 0.0, np.exp(pooled(logs, weights, base)))
    for k in np.flatnonzero(np.any(without, axis=0)):
        with np.errstate(divide="ignore"):
            logs[k] = np.log(crossed_proba(trials[k]))
    for of_models, own in zip(without, shares.T, strict=True):
        told += own[:, None] * np.exp(pooled(logs, of_models, base))
    return _at_most_one(told), weights


def _at_most_one(proba: Array) -> Array:
    """Probabilities without the rounding of shares, which may leave one above 1; NaN stays."""
    return np.minimum(proba, 1.0)
