"""How good left-out probabilities are, from plain arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from bayes_svm.metrics.distinct import distinct
from bayes_svm.metrics.risk_coverage import risk_coverage_curve

from .evidence import error_of_mean, share_interval

__all__ = [
    "Answered", "Bin", "Reliability", "RiskCoveragePoints", "Scores", "ThresholdPoints",
    "answered_rows",
    "reliability",
    "risk_coverage_points",
    "scores",
    "threshold_points",
]  # fmt: skip

# Largest number of points of a curve: more cannot be told apart on a page. The two ends are always kept.
MAX_POINTS = 201
# Probability that the interval of a bin, or of all bins together, misses.
ALPHA = 0.05


@dataclass(frozen=True)
class Bin:
    """One bin of a reliability diagram.

    Parameters
    ----------
    lower : float
        Lower end of the bin.
    upper : float
        Upper end of the bin.
    n : int
        Number of rows.
    hits : int
        Number of rows whose prediction came true.
    predicted : float
        Mean of the probabilities, each with the weight of its row.
    observed : float
        Share of the rows, each with its weight, whose prediction came true.
    low : float
        Lower end of the 95 % interval of `observed`.
    high : float
        Upper end of that interval.
    joint_low : float
        Lower end of the interval of `observed` that holds for all k bins together: at 1 - 0.05 / k for each.
    joint_high : float
        Upper end of that interval.
    """

    lower: float
    upper: float
    n: int
    hits: int
    predicted: float
    observed: float
    low: float
    high: float
    joint_low: float
    joint_high: float


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram.

    Parameters
    ----------
    bins : tuple of Bin
        The bins that are not empty.
    n_agreeing : int
        Number of bins whose mean prediction lies within their interval.
    """

    bins: tuple[Bin, ...]
    n_agreeing: int


@dataclass(frozen=True)
class Scores:
    """Log loss and Brier score of the probabilities and of the base rates; smaller is better.

    The Brier score follows scikit-learn. For two classes it is the mean of (p - y)^2 for the positive
    class, for more the mean of the sum of the squares over all classes.

    Parameters
    ----------
    log_loss : float
        Log loss of the probabilities.
    brier : float
        Brier score of the probabilities.
    base_log_loss : float
        Log loss of always predicting the frequency of each class.
    base_brier : float
        Brier score of always predicting the frequency of each class.
    gain_error : float
        Standard error of the difference of the log losses, over the rows or their groups.
    """

    log_loss: float
    brier: float
    base_log_loss: float
    base_brier: float
    gain_error: float


@dataclass(frozen=True)
class ThresholdPoints:
    """What happens if a row is given a label once its probability reaches a threshold: 0, 1, ..., 100 %.

    Parameters
    ----------
    label : str
        The label.
    n : int
        Number of rows that have the label.
    n_others : int
        Number of rows that have another.
    found : tuple of int
        Number of rows with the label that are given it, at each of the 101 thresholds.
    false_alarms : tuple of int
        Number of other rows that are given it.
    """

    label: str
    n: int
    n_others: int
    found: tuple[int, ...]
    false_alarms: tuple[int, ...]

    @property
    def precision(self) -> tuple[float, ...]:
        """Precision at each threshold; NaN where no row is given the label."""
        pairs = zip(self.found, self.false_alarms, strict=True)
        return tuple(hits / (hits + wrong) if hits + wrong else math.nan for hits, wrong in pairs)

    @property
    def recall(self) -> tuple[float, ...]:
        """Recall at each threshold."""
        return tuple(hits / self.n for hits in self.found)


@dataclass(frozen=True)
class Answered:
    """The errors among the rows kept if the least confident rows are left to a person.

    Parameters
    ----------
    confidence : float
        Rows with at least this probability of their predicted class are kept.
    n : int
        Number of rows kept.
    share : float
        Their share.
    wrong : int
        Number of wrong predictions among them.
    risk : float
        Share of wrong predictions among them.
    low : float
        Lower end of the 95 % interval of `risk`.
    high : float
        Upper end of that interval.
    """

    confidence: float
    n: int
    share: float
    wrong: int
    risk: float
    low: float
    high: float


@dataclass(frozen=True)
class RiskCoveragePoints:
    """Error rate among the rows kept if the least confident rows are rejected first.

    Parameters
    ----------
    confidence : tuple of float
        Rows with at least this probability of their predicted class are kept.
    coverage : tuple of float
        Share of the rows kept.
    risk : tuple of float
        Error rate among the rows kept.
    area : float
        Area under the curve of all points: the mean of the risk over all coverages.
    """

    confidence: tuple[float, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    area: float


def reliability(
    probability: np.ndarray, outcome: np.ndarray, groups: Any = None, weight: Any = None, n_bins: int = 10
) -> Reliability:
    """Compare probabilities with how often they came true, in bins of equal width.

    A bin includes its lower end, the last one its upper end too. The intervals are Clopper-Pearson
    intervals at 95 %, or of groups those of :func:`~bayes_svm.report.evidence.share_interval`.

    Parameters
    ----------
    probability : ndarray of shape (n,)
        Predicted probabilities.
    outcome : ndarray of bool of shape (n,)
        Whether each prediction came true.
    groups : ndarray of shape (n,) or None
        Group of each row, if not the rows but their groups are independent.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    n_bins : int
        Number of bins, empty ones included.

    Returns
    -------
    Reliability
        The diagram.
    """
    edges = np.arange(n_bins + 1) / n_bins
    index = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, n_bins - 1)
    used, outcome = np.unique(index), np.asarray(outcome, dtype=float)
    weight = np.ones(len(outcome)) if weight is None else weight
    bins = []
    for b in used:
        rows = index == b
        of_rows = weight[rows]
        counted = outcome[rows] * of_rows, of_rows, None if groups is None else groups[rows]
        bins.append(
            Bin(
                float(edges[b]),
                float(edges[b + 1]),
                int(rows.sum()),
                int(outcome[rows].sum()),
                float(np.average(probability[rows], weights=of_rows)),
                float(np.average(outcome[rows], weights=of_rows)),
                *share_interval(*counted, ALPHA, "clopper-pearson"),
                *share_interval(*counted, ALPHA / len(used), "clopper-pearson"),
            )
        )
    return Reliability(tuple(bins), sum(one.low <= one.predicted <= one.high for one in bins))


def scores(
    labels: np.ndarray, classes: np.ndarray, probability: np.ndarray, groups: Any = None, weight: Any = None,
    counted: bool = False,
) -> Scores:  # fmt: skip
    """Score the probabilities, and the frequencies of the classes as constant predictions.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Label of each row.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    probability : ndarray of shape (n, n_classes)
        Predicted probabilities.
    groups : ndarray of shape (n,) or None
        Group of each row, if not the rows but their groups are independent.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    counted : bool
        Whether the weights are numbers of cases.

    Returns
    -------
    Scores
        The scores of both.
    """
    truth = (labels[:, None] == classes[None, :]).astype(float)
    base = np.broadcast_to(np.average(truth, axis=0, weights=weight), truth.shape)
    columns = slice(1, None) if len(classes) == 2 else slice(None)

    def brier(prediction: np.ndarray) -> float:
        # sklearn.metrics.brier_score_loss takes more than two classes only from version 1.7 on.
        return float(np.average(((prediction - truth)[:, columns] ** 2).sum(axis=1), weights=weight))

    own = truth.astype(bool)
    gain = np.log(np.maximum(probability[own], np.finfo(float).eps)) - np.log(base[own])
    return Scores(
        gain_error=error_of_mean(gain, groups, weight, weight if counted else None),
        log_loss=float(log_loss(labels, probability, labels=classes, sample_weight=weight)),
        brier=brier(probability),
        base_log_loss=float(log_loss(labels, base, labels=classes, sample_weight=weight)),
        base_brier=brier(base),
    )


def threshold_points(label: str, truth: np.ndarray, probability: np.ndarray) -> ThresholdPoints:
    """Count the rows that are given a label, at thresholds of 0, 1, ..., 100 %.

    Parameters
    ----------
    label : str
        The label that the probabilities are for.
    truth : ndarray of bool of shape (n,)
        Whether each row has the label.
    probability : ndarray of shape (n,)
        Probability of the label.

    Returns
    -------
    ThresholdPoints
        The counts.
    """
    thresholds = np.arange(101) / 100
    found, others = (
        len(own) - np.searchsorted(np.sort(own), thresholds)
        for own in (probability[truth], probability[~truth])
    )
    return ThresholdPoints(
        label, int(truth.sum()), int((~truth).sum()), tuple(found.tolist()), tuple(others.tolist())
    )


def answered_rows(
    confidence: np.ndarray, wrong: np.ndarray, shares: Sequence[float], groups: Any = None
) -> tuple[Answered, ...]:
    """Return the errors among the most confident rows, for some shares of the rows.

    Rows of equal confidence are kept together, so that more rows may be kept than asked for.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Probability of each row's predicted class.
    wrong : ndarray of bool of shape (n,)
        Whether each prediction is wrong.
    shares : sequence of float
        Smallest shares of the rows to keep.
    groups : ndarray of shape (n,) or None
        Group of each row, if not the rows but their groups are independent.

    Returns
    -------
    tuple of Answered
        One for each share; shares that keep the same rows have one entry.
    """
    points, place = distinct(confidence)
    confidence = points[place]
    falling = np.sort(confidence)[::-1]
    found = []
    for share in shares:
        lowest = falling[max(0, math.ceil(share * len(falling) - 1e-9) - 1)]
        kept = confidence >= lowest
        n, errors = int(kept.sum()), int(wrong[kept].sum())
        ends = share_interval(wrong[kept], np.ones(n), None if groups is None else groups[kept])
        found.append(Answered(float(lowest), n, n / len(falling), errors, errors / n, *ends))
    return tuple(dict.fromkeys(found))


def risk_coverage_points(confidence: np.ndarray, wrong: np.ndarray) -> RiskCoveragePoints:
    """Return the risk-coverage curve at no more than `MAX_POINTS` points, and its exact area.

    Rows of equal confidence are kept or rejected together.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Probability of each row's predicted class.
    wrong : ndarray of bool of shape (n,)
        Whether each prediction is wrong.

    Returns
    -------
    RiskCoveragePoints
        The points and the area.
    """
    curve = risk_coverage_curve(wrong, np.zeros_like(wrong), confidence)
    # Summed over whole rows: `curve.area`, summed over shares, may differ in the last digit.
    n_added = np.rint(np.diff(curve.coverage, prepend=0.0) * len(wrong))
    shown = _thinned(len(curve.thresholds))
    return RiskCoveragePoints(
        confidence=tuple(curve.thresholds[shown].tolist()),
        coverage=tuple(curve.coverage[shown].tolist()),
        risk=tuple(curve.risk[shown].tolist()),
        area=float((curve.risk * n_added).sum() / len(wrong)),
    )


def _thinned(n: int) -> np.ndarray:
    """Return the numbers of at most `MAX_POINTS` of n points, evenly spread, both ends among them."""
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, MAX_POINTS).round().astype(int))
