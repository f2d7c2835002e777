"""The bootstrap's correction of the training error, and Efron's .632+ estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray

from bayes_svm.selection.resampling import Found, Task, predictions
from bayes_svm.utils.parallel import run_each
from bayes_svm.utils.types import Indices, Mask

__all__ = ["Resamples", "bias_corrected", "no_information_rate", "plus_632", "resample"]


# A resample without two rows of every class is drawn again, at most this often.
MOST_DRAWS = 10_000


@dataclass(frozen=True)
class Resamples:
    """What classifiers trained on bootstrap resamples get wrong.

    Parameters
    ----------
    predicted : array of shape (n_samples,)
        Labels predicted by the classifier trained on all rows.
    counts : array of shape (n_bootstrap, n_samples)
        How often each row is in each resample.
    wrong : array of bool of shape (n_bootstrap, n_samples)
        Whether the classifier trained on the resample gets the row wrong.
    """

    predicted: NDArray[np.generic]
    counts: NDArray[np.int64]
    wrong: Mask


def resample(task: Task) -> Resamples:
    """Train the classifier on all rows and on every resample, and test it on all rows."""
    random, rows = np.random.RandomState(task.seed), np.arange(len(task.y))
    drawn = [_draw(task.y, random) for _ in range(task.n_bootstrap)]
    calls = [delayed(predictions)(task.estimator, task.X, task.y, sample) for sample in [rows, *drawn]]
    predicted, *others = run_each(task.n_jobs, calls, "resamples")
    return Resamples(
        predicted=predicted,
        counts=np.array([np.bincount(sample, minlength=len(rows)) for sample in drawn]),
        wrong=np.array([other != task.y for other in others]),
    )


def _draw(y: NDArray[np.generic], random: np.random.RandomState) -> Indices:
    _, classes, members = np.unique(y, return_inverse=True, return_counts=True)
    needed = np.minimum(2, members)
    for _ in range(MOST_DRAWS):
        sample = random.randint(len(y), size=len(y))
        if np.all(np.bincount(classes[sample], minlength=len(members)) >= needed):
            return np.sort(sample).astype(np.intp)
    raise ValueError(
        f"None of {MOST_DRAWS} resamples had two rows of each of the {len(members)} classes: give more rows "
        "of the rarest classes, or leave the bootstraps out of methods."
    )


def bias_corrected(task: Task, resamples: Resamples) -> Found:
    """Training error plus the mean over the resamples of (error on all rows − error on the resample)."""
    training = float(np.mean(resamples.predicted != task.y))
    counts, wrong = resamples.counts, resamples.wrong
    optimism = np.mean(wrong.mean(axis=1) - (counts * wrong).sum(axis=1) / len(task.y))
    value = min(1.0, max(0.0, training + float(optimism)))
    how = f"training error + optimism over {len(counts)} resamples"
    return Found(value, len(task.y), how, len(counts) + 1)


def plus_632(task: Task, resamples: Resamples) -> Found:
    """Weighted mean of the training error and the error on rows that are not in the resample."""
    training = float(np.mean(resamples.predicted != task.y))
    absent = resamples.counts == 0
    times = absent.sum(axis=0)
    outside = float(np.mean((absent & resamples.wrong).sum(axis=0)[times > 0] / times[times > 0]))
    chance = no_information_rate(task.y, resamples.predicted)
    outside = min(outside, chance)
    overfit = (outside - training) / (chance - training) if outside > training < chance else 0.0
    share = 0.632 / (1 - 0.368 * overfit)
    value = (1 - share) * training + share * outside
    return Found(value, len(task.y), f"overfitting rate {overfit:.2f}", len(resamples.counts) + 1)


def no_information_rate(y: ArrayLike, predicted: ArrayLike) -> float:
    """Error if labels and predictions were independent: ``sum_k p_k (1 - q_k)``.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels; class k has the share :math:`p_k` of them.
    predicted : array of shape (n_samples,)
        Predicted labels; class k has the share :math:`q_k` of them.

    Returns
    -------
    float
        The error rate.
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    return float(sum(np.mean(y == label) * np.mean(predicted != label) for label in np.unique(y)))
