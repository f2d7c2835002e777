"""From the log-odds of each class against the rest to the probabilities of all classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_expit, logsumexp

from bayes_svm.probability.link import Link
from bayes_svm.utils.types import Array

__all__ = [
    "class_log_odds",
    "log_probabilities",
    "moderated_log_odds",
    "normalised_log_odds",
    "winner_log_probabilities",
]


def class_log_odds(links: Sequence[Link], values: Array, reading: Array | None) -> Array:
    """Log-odds of the positive class for one link, otherwise of each class against the rest.

    Parameters
    ----------
    links : sequence of Link
        One for two classes, otherwise one per class.
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values.
    reading : array like ``values``, or None
        What the links need of the posterior at these points.

    Returns
    -------
    array of the shape of ``values``
        Each column by its own link.
    """
    if values.ndim == 1:
        return links[0].log_odds(values, reading)
    columns = [
        link.log_odds(values[:, k], None if reading is None else reading[:, k])
        for k, link in enumerate(links)
    ]
    return np.column_stack(columns)


def moderated_log_odds(links: Sequence[Link], log_odds: Array, reading: Array | None) -> Array:
    """Log-odds of the joint link, each class moderated as its own link moderates.

    Parameters
    ----------
    links : sequence of Link
        One per class.
    log_odds : array of shape (n_samples, n_classes)
        Log-odds of each class against the rest.
    reading : array like ``log_odds``, or None
        What the links need of the posterior; None for no moderation.

    Returns
    -------
    array of shape (n_samples, n_classes)
        The moderated log-odds.
    """
    if reading is None:
        return log_odds
    columns = [link.moderated(log_odds[:, k], reading[:, k]) for k, link in enumerate(links)]
    return np.column_stack(columns)


def winner_log_probabilities(log_odds: Array) -> Array:
    """Log-probabilities of all classes; the most probable class keeps its one-versus-rest probability.

    The other classes share the rest in proportion. If the one-versus-rest probabilities sum to less than
    1, they are normalised instead.

    Parameters
    ----------
    log_odds : array of shape (n_samples, n_classes)
        Log-odds of each class against the rest.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Logarithms of probabilities that sum to 1.
    """
    logs, shares = log_expit(log_odds), log_probabilities(log_odds)
    rows, top = np.arange(len(logs)), log_odds.argmax(axis=1)
    own = np.maximum(logs[rows, top], shares[rows, top])
    more = np.flatnonzero(own > shares[rows, top])
    found = shares.copy()
    found[more, top[more]] = -np.inf
    rest = log_expit(-log_odds[more, top[more]])
    found[more] += (rest - logsumexp(found[more], axis=1))[:, None]
    found[more, top[more]] = own[more]
    return found


def log_probabilities(log_odds: Array) -> Array:
    """Log-probabilities of all classes; those of several classes are divided by their sum.

    Parameters
    ----------
    log_odds : array of shape (n_samples,) or (n_samples, n_classes)
        Log-odds of the positive class, or of each of several classes against the rest.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Logarithms of probabilities that sum to 1.
    """
    if log_odds.ndim == 1:
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
    logs = log_expit(log_odds)
    none = np.isneginf(logs).all(axis=1)  # if every class is ruled out, all are equally probable
    logs[none] = 0.0
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def normalised_log_odds(logs: Array) -> Array:
    """Log-odds of every class against all others, ``log p_k / (1 - p_k)``.

    Parameters
    ----------
    logs : array of shape (n_samples, n_classes)
        Logarithms of the probabilities, up to a constant in each row.

    Returns
    -------
    array of shape (n_samples, n_classes)
        The log-odds, accurate also where a probability is nearly 1.
    """
    rows, top = np.arange(len(logs)), logs.argmax(axis=1)
    others = logs.copy()
    others[rows, top] = -np.inf
    share = others - logsumexp(logs, axis=1, keepdims=True)  # at most a half
    log_odds = share - np.log1p(-np.exp(share))
    # 1 - p loses its digits where p is nearly 1: use the sum of the other classes instead.
    log_odds[rows, top] = logs[rows, top] - logsumexp(others, axis=1)
    return np.asarray(log_odds)
