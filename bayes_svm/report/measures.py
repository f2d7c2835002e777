"""What left-out probabilities are worth: plain arrays in, frozen results out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import log_loss

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.metrics.risk_coverage import risk_coverage_curve
from bayes_svm.metrics.threshold_curve import ThresholdCurve

__all__ = [
    "Bin",
    "Reliability",
    "RiskCoveragePoints",
    "Scores",
    "ThresholdPoints",
    "reliability",
    "risk_coverage_points",
    "scores",
    "threshold_points",
]

# A page needs no more points on a curve than it has pixels; the curve's two ends are always kept.
MAX_POINTS = 201


@dataclass(frozen=True)
class Bin:
    """One bin of a reliability diagram: `observed` of its `n` rows with a Clopper-Pearson interval."""

    lower: float
    upper: float
    n: int
    hits: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True)
class Reliability:
    """Non-empty bins, and for how many the mean prediction lies within the interval."""

    bins: tuple[Bin, ...]
    n_agreeing: int


@dataclass(frozen=True)
class Scores:
    """Log loss and Brier score (smaller is better) of the probabilities and of the base rates.

    The Brier score follows scikit-learn: (p - y)^2 of the positive class for two classes, the sum of the
    squares over all classes for more.
    """

    log_loss: float
    brier: float
    base_log_loss: float
    base_brier: float


@dataclass(frozen=True)
class ThresholdPoints:
    """Precision and recall of "label this class if its probability is at least the threshold"."""

    label: str
    thresholds: tuple[float, ...]
    precision: tuple[float, ...]
    recall: tuple[float, ...]


@dataclass(frozen=True)
class RiskCoveragePoints:
    """Error rate among the rows kept when the least confident are rejected first.

    Attributes
    ----------
    confidence : tuple of float
        Rows with at least this probability of their predicted class are kept.
    coverage, risk : tuple of float
        Share of rows kept, and error rate among them.
    area : float
        Mean over all rows of the risk at the point where the row is first kept.
    """

    confidence: tuple[float, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    area: float

    def risk_at(self, coverage: float) -> tuple[float, float]:
        """Return (coverage, risk) of the first point that keeps at least this share of the rows."""
        index = int(np.searchsorted(np.asarray(self.coverage), coverage - 1e-12))
        index = min(index, len(self.coverage) - 1)
        return self.coverage[index], self.risk[index]


def reliability(probability: np.ndarray, outcome: np.ndarray, n_bins: int = 10) -> Reliability:
    """Compare probabilities with how often they came true, in bins of equal width.

    Bins are closed on the left, and the last one on both sides. The intervals are Clopper-Pearson at 95 %.
    """
    edges = np.arange(n_bins + 1) / n_bins
    index = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, n_bins - 1)
    n = np.bincount(index, minlength=n_bins)
    hits = np.bincount(index, weights=np.asarray(outcome, dtype=float), minlength=n_bins).astype(int)
    total = np.bincount(index, weights=probability, minlength=n_bins)
    used = np.flatnonzero(n)
    low, high = proportion_interval(hits[used], n[used], interval="clopper-pearson")
    bins = tuple(
        Bin(
            lower=float(edges[b]),
            upper=float(edges[b + 1]),
            n=int(n[b]),
            hits=int(hits[b]),
            predicted=total[b] / n[b],
            observed=hits[b] / n[b],
            low=lowest,
            high=highest,
        )
        for b, lowest, highest in zip(used, low.tolist(), high.tolist(), strict=True)
    )
    return Reliability(bins, sum(one.low <= one.predicted <= one.high for one in bins))


def scores(labels: np.ndarray, classes: np.ndarray, probability: np.ndarray) -> Scores:
    """Score the probabilities, and beside them the constant prediction of each class's frequency."""
    truth = (labels[:, None] == classes[None, :]).astype(float)
    base = np.broadcast_to(truth.mean(axis=0), truth.shape)
    columns = slice(1, None) if len(classes) == 2 else slice(None)

    def brier(prediction: np.ndarray) -> float:
        # Not sklearn.metrics.brier_score_loss: versions before 1.7 know two classes only.
        return float(((prediction - truth)[:, columns] ** 2).sum(axis=1).mean())

    return Scores(
        log_loss=float(log_loss(labels, probability, labels=classes)),
        brier=brier(probability),
        base_log_loss=float(log_loss(labels, base, labels=classes)),
        base_brier=brier(base),
    )


def threshold_points(label: str, truth: np.ndarray, probability: np.ndarray) -> ThresholdPoints:
    """Return precision and recall at the thresholds that occur, at most `MAX_POINTS` of them."""
    curve = ThresholdCurve.from_decision_values(truth, probability, np.ones(len(truth)))
    # The curve's last entry, where nothing is labelled, belongs to no threshold.
    shown = _thinned(len(curve.thresholds))
    return ThresholdPoints(
        label=label,
        thresholds=tuple(curve.thresholds[shown].tolist()),
        precision=tuple(curve.precision[shown].tolist()),
        recall=tuple(curve.recall[shown].tolist()),
    )


def risk_coverage_points(confidence: np.ndarray, wrong: np.ndarray) -> RiskCoveragePoints:
    """Return the risk-coverage curve at no more than `MAX_POINTS` points, and its exact area.

    Rows of equal confidence are kept or rejected together.
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
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, MAX_POINTS).round().astype(int))
