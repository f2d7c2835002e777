"""From decision values, and how uncertain they are, to probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_expit, log_ndtr, logit, logsumexp
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from bayes_svm.probability.calibration import OFFSET, SigmoidLink, fit_dumais, fit_sigmoid
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.metaestimators import check_instance
from bayes_svm.utils.types import Array, Mask

__all__ = [
    "LINK_NAMES",
    "UNFITTED",
    "CalibratorLink",
    "ClippedLink",
    "HingeLink",
    "KwokLink",
    "Link",
    "ModeratedLink",
    "SigmoidLink",
    "class_log_odds",
    "fit_links",
    "log_probabilities",
    "moderated_log_odds",
    "normalised_log_odds",
    "reading_of",
    "unmoderated",
    "winner_log_probabilities",
]


LINK_NAMES = ("moderated", "sigmoid", "kwok", "hinge", "clipped", "dumais")
UNFITTED = ("kwok", "hinge", "clipped")
LITTLE, SHARE = 0.01, 0.05  # quantile of the training points' information, and share of it: see ModeratedLink
OUTLIER = 1.0  # copies of rows that may be outliers, however few rows there are
FRINGE = 5.0  # rows whose labels say where the moderated log-odds go,
MOST_CERTAIN = float(np.log(FRINGE + 1.0))  # never beyond what Laplace's rule makes of them
DIGITS = 6  # of the logarithm of an information that count
NODES, WEIGHTS = (part[5:] for part in np.polynomial.legendre.leggauss(10))  # the positive ones
SMALL = 0.1  # decision values, in units of the larger of 1 and s, whose log-odds are integrated
TIE = 1e-9  # log-odds that are all but 0
GRID_BITS = 30  # of the largest decision value that a foreign calibrator sees
TINY = float(np.finfo(float).tiny)


class Link(Protocol):
    """Log-odds of the positive class from a decision value, and from what the posterior says of it.

    ``reads`` names what it is: the variance, the information that the data add to the prior's, or nothing.
    """

    reads: ClassVar[str | None]

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the positive class."""
        ...


@dataclass(frozen=True)
class ModeratedLink:
    r"""Platt's sigmoid, drawn to a limit where the data end.

    .. math:: \log \frac{p(+)}{p(-)} = m z + (1 - m) z_\infty, \qquad z = A f(x) + B, \qquad
              m = \min \left( 1, \frac{I(x)}{I_0} \right), \qquad
              I(x) = \frac{1}{s^2(x)} - \frac{1}{k(x, x) / \lambda}

    The information I is the precision that the data add to the prior's about f(x), in Kwok's
    posterior. :math:`I_0` is a twentieth of what 99 % of the training points have, and all but one,
    each under the posterior of the half of the points that it is not in. So among the data nothing is
    moderated, and one outlier does not count as data.
    Beyond them I falls, with an rbf kernel as the square of k, with a polynomial one as 1 over f
    squared, and the log-odds go to the limit :math:`z_\infty`.

    The limit is what the rows that are themselves the farthest out are: of the five with the least
    information :math:`n_+` are positive, and by Laplace's rule of succession

    .. math:: p_\infty(+) = \frac{n_+ + 1}{5 + 2},

    never less than 1/7 nor more than 6/7. This was better on test data than 1/2, and than the base
    rate: ``docs/results/moderation.md``. Where columns outnumber rows, the limit is as near to the log-odds
    at the machine's boundary as the sigmoid's offset is held there: see
    :func:`~bayes_svm.probability.calibration.offset_scale`.

    Parameters
    ----------
    sigmoid : SigmoidLink
    reference : float
        The information :math:`I_0`; 0, where none is known, moderates nothing.
    limit : float
        The log-odds :math:`z_\infty`.
    """

    sigmoid: SigmoidLink
    reference: float
    limit: float = 0.0
    reads: ClassVar[str | None] = "information"

    @classmethod
    def of(
        cls,
        sigmoid: SigmoidLink,
        information: Array | None,
        positive: Mask,
        weight: Array,
        boundary: float = 0.0,
        scale: float = OFFSET,
    ) -> ModeratedLink:
        """From the information about training points that the others hold, their labels and weights.

        ``boundary`` and ``scale`` are those of the prior of the sigmoid's offset.
        """
        if information is None:
            return cls(sigmoid, 0.0)
        order = np.argsort(information, kind="stable")
        mass = np.cumsum(weight[order])
        outlying = max(LITTLE * mass[-1], OUTLIER) * (1 + 1e-12)
        little = information[order[min(int(np.searchsorted(mass, outlying, side="right")), len(order) - 1)]]
        if not 0.0 < little < np.inf:
            known = information[np.isfinite(information) & (information > 0)]
            little = known.min() if len(known) else 0.0
        away = _limit(information, positive, weight) - boundary
        limit = float(np.clip(boundary + scale / OFFSET * away, -MOST_CERTAIN, MOST_CERTAIN))
        return cls(sigmoid, SHARE * float(little), limit)

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """The sigmoid's log-odds and the limit, mixed; without a reading they are the sigmoid's."""
        return self.moderated(self.sigmoid.log_odds(values), reading)

    def moderated(self, log_odds: Array, reading: Array | None) -> Array:
        """Log-odds and the limit, mixed as the reading says."""
        if reading is None or self.reference == 0.0:
            return log_odds
        with np.errstate(over="ignore"):
            share = np.minimum(reading / self.reference, 1.0)
        # Where nothing is known, the order of the decision values stays what it is.
        order = TIE * log_odds / (1.0 + np.abs(log_odds))
        return np.where(share < 1.0, self.limit + share * (log_odds - self.limit) + order, log_odds)


def _limit(information: Array, positive: Mask, weight: Array) -> float:
    """Log-odds by Laplace's rule of the five copies of rows that the others say least about."""
    with np.errstate(divide="ignore"):
        level = np.log(information)
    level[np.isfinite(level)] = np.round(level[np.isfinite(level)], DIGITS)  # equal but for rounding
    levels, place = np.unique(level, return_inverse=True)
    mass = np.bincount(place, weights=weight, minlength=len(levels))
    taken = np.diff(np.minimum(np.cumsum(mass), FRINGE), prepend=0.0)
    share = np.divide(taken, mass, out=np.zeros(len(mass)), where=mass > 0)[place] * weight
    return float(np.log((share[positive].sum() + 1.0) / (share[~positive].sum() + 1.0)))


@dataclass(frozen=True)
class KwokLink:
    r"""Kwok's moderated output: the unnormalised hinge likelihood averaged over the posterior.

    .. math:: p_\pm(a, s) = \int e^{-[1 \mp t]_+} N(t; a, s^2) \, dt, \qquad
              p(+) = \frac{p_+}{p_+ + p_-}

    (equations 10 and 11 of Kwok 1999). Nothing is fitted.

    Parameters
    ----------
    boundary : float
        Log-odds where the machine is undecided, which are added: with class weights it is that of
        a population with the classes so weighted.
    """

    boundary: float = 0.0
    reads: ClassVar[str | None] = "variance"

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds for decision values a and variances s^2; s = 0 is the unmoderated output."""
        a = np.asarray(values, dtype=np.float64)
        s = np.zeros_like(a) if reading is None else np.sqrt(reading)
        apart = _log_mean_likelihood(a, s) - _log_mean_likelihood(-a, s)
        # Near 0 the two cancel: there their difference is the integral of the slope from -a to a.
        small = np.abs(a) <= SMALL * np.maximum(1.0, s)
        size = np.abs(a[small])
        slopes = [
            weight * (_slope(node * size, s[small]) + _slope(-node * size, s[small]))
            for node, weight in zip(NODES, WEIGHTS, strict=True)
        ]
        apart[small] = a[small] * np.sum(slopes, axis=0)
        return np.asarray(apart + self.boundary)


def _log_mean_likelihood(a: Array, s: Array) -> Array:
    """``log of the mean of exp(-[1 - t]_+)`` over t normal with mean a and deviation s."""
    hinge = np.minimum(0.0, a - 1.0)
    return np.asarray(np.where(s > 0, np.logaddexp(*_log_parts(a, s)), hinge))


def _slope(a: Array, s: Array) -> Array:
    """Derivative of :func:`_log_mean_likelihood` by a: the share of the part below the hinge."""
    below, above = _log_parts(a, s)
    return np.asarray(np.where(s > 0, np.exp(below - np.logaddexp(below, above)), (a < 1.0).astype(float)))


def _log_parts(a: Array, s: Array) -> tuple[Array, Array]:
    """Logarithms of the mean's parts from t below 1 and from t above; of no meaning where s is 0.

    The integral below the hinge is ``exp(s^2/2 + a - 1) Phi(-x)``, ``x = s + (a - 1)/s``. For
    x > 0 its two factors nearly cancel, and are written as one with the scaled erfc.
    """
    safe = np.where(s > 0, s, 1.0)
    margin = (a - 1.0) / safe
    x = safe + margin
    with np.errstate(divide="ignore", over="ignore"):
        small = -0.5 * margin**2 + np.log(0.5 * erfcx(np.maximum(x, 0.0) / np.sqrt(2.0)))
    below = np.where(x > 0, small, 0.5 * safe**2 + a - 1.0 + log_ndtr(-x))
    return np.asarray(below), np.asarray(log_ndtr(margin))


@dataclass(frozen=True)
class HingeLink:
    r"""The unmoderated estimate (Kwok 1999, equation 16).

    .. math:: p(+) = \frac{e^{-[1 - a]_+}}{e^{-[1 - a]_+} + e^{-[1 + a]_+}}

    ``boundary`` as in :class:`KwokLink`.
    """

    boundary: float = 0.0
    reads: ClassVar[str | None] = None

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """``[1 + a]_+ - [1 - a]_+``, which is a plus a clipped to [-1, 1]."""
        return np.asarray(values + np.clip(values, -1.0, 1.0) + self.boundary)


@dataclass(frozen=True)
class ClippedLink:
    """The decision value clipped to [-1, 1] as a probability, ``(1 + a) / 2``: 0 and 1 are certain.

    ``boundary`` as in :class:`KwokLink`.
    """

    boundary: float = 0.0
    reads: ClassVar[str | None] = None

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Infinite from the margin on."""
        with np.errstate(divide="ignore"):
            return np.asarray(logit((1.0 + np.clip(values, -1.0, 1.0)) / 2.0) + self.boundary)


@dataclass(frozen=True)
class CalibratorLink:
    """A scikit-learn classifier or regressor of one feature, fitted to tell the positive class.

    Decision values that are equal but for rounding are made equal, in fitting and in predicting: many
    are, at the margin and far from the data, and a calibrator that follows each value would fit
    the rounding.

    Parameters
    ----------
    calibrator : estimator, fitted
    grid : float
        A power of two; values are rounded to its multiples.
    """

    calibrator: Any
    grid: float
    reads: ClassVar[str | None] = None

    @classmethod
    def fit(cls, calibrator: Any, values: Array, positive: Mask, weight: Array) -> CalibratorLink:
        """A clone of ``calibrator`` fitted on decision values.

        Raises
        ------
        ValueError
            If rows have different weights and it takes none, or it is a classifier without probabilities.
        """
        check_instance(calibrator, "link")
        if is_classifier(calibrator) and not hasattr(calibrator, "predict_proba"):
            raise ValueError(
                f"link={calibrator} is a classifier without predict_proba: give one that has it."
            )
        fitted, used = clone(calibrator), weight > 0
        grid = 2.0 ** np.round(np.log2(max(float(np.abs(values[used]).max()), TINY)) - GRID_BITS)
        features, labels, weight = _rounded(values[used], grid), positive[used].astype(int), weight[used]
        if has_fit_parameter(fitted, "sample_weight"):
            return cls(fitted.fit(features, labels, sample_weight=weight), grid)
        times = weight / weight.min()
        if np.any(np.abs(times - np.round(times)) > 1e-9 * times):
            raise ValueError(f"link={calibrator} takes no sample weights: use another, or equal weights.")
        require_bytes(
            32 * int(times.sum()),
            f"Repeating rows for link={calibrator}",
            "Use one that takes sample weights.",
        )
        rows = np.repeat(np.arange(len(times)), np.round(times).astype(np.intp))
        return cls(fitted.fit(features[rows], labels[rows]), grid)

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the calibrator's probability, which double precision keeps from 0 and 1."""
        features = _rounded(values, self.grid)
        if hasattr(self.calibrator, "predict_proba"):
            probability = self.calibrator.predict_proba(features)[:, 1]
        else:
            probability = np.asarray(self.calibrator.predict(features), dtype=np.float64).ravel()
            if not np.isfinite(probability).all():
                raise ValueError(
                    f"link={self.calibrator} gives NaN beyond the values it was fitted on: an "
                    'IsotonicRegression needs out_of_bounds="clip".'
                )
        least = np.finfo(float).eps
        return np.asarray(logit(np.clip(probability, least, 1.0 - least)))


def _rounded(values: Array, grid: float) -> Array:
    """Values as a column of features, to the nearest multiples of the grid."""
    with np.errstate(over="ignore"):  # of values so large that they are multiples anyway
        multiples = np.round(values / grid)
        return np.where(np.abs(multiples) < 2.0**52, multiples * grid, values)[:, None]


def reading_of(link: Any) -> str | None:
    """What a link, given by its name or as a calibrator, reads of the posterior."""
    kinds: dict[str, type[Link]] = {"moderated": ModeratedLink, "kwok": KwokLink}
    return kinds[link].reads if isinstance(link, str) and link in kinds else None


def fit_links(
    link: Any,
    values: Array,
    y: NDArray[np.intp],
    weight: Array,
    smoothing: float,
    information: Array | None = None,
    class_weight: Array | None = None,
    scales: Sequence[float] | None = None,
) -> list[Link]:
    """One link for (n,) decision values of two classes, or one per column of (n, n_classes).

    Parameters
    ----------
    link : str or estimator
        One of :data:`LINK_NAMES`, or a scikit-learn classifier or regressor of one feature.
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values of points that the machine has not seen.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
    smoothing : float
        Of the sigmoid's targets, as in :func:`bayes_svm.probability.calibration.fit_sigmoid`.
    information : array like ``values``, optional
        Of the posterior about the points, without what they say themselves, for a moderated link.
    class_weight : array of shape (n_classes,), optional
        Costs of the classes that the machines were trained with, which say where they are undecided.
    scales : sequence of float, optional
        Of every machine, :func:`bayes_svm.probability.calibration.offset_scale`.
    """
    fits: list[Link] = []
    for k in [1] if values.ndim == 1 else range(values.shape[1]):
        own = y == k
        boundary = 0.0
        if class_weight is not None:
            rest = np.average(class_weight[y[~own]], weights=weight[~own])
            boundary = float(np.log(rest / class_weight[k]))
        column, about = (
            (values, information)
            if values.ndim == 1
            else (values[:, k], None if information is None else information[:, k])
        )
        scale = OFFSET if scales is None else scales[len(fits)]
        fits.append(_fit_link(link, column, own, weight, smoothing, about, boundary, scale))
    return fits


def _fit_link(
    link: Any,
    values: Array,
    positive: Mask,
    weight: Array,
    smoothing: float,
    information: Array | None,
    boundary: float,
    scale: float,
) -> Link:
    formulas: dict[str, Link] = {
        "kwok": KwokLink(boundary), "hinge": HingeLink(boundary), "clipped": ClippedLink(boundary)
    }  # fmt: skip
    if not isinstance(link, str):
        return CalibratorLink.fit(link, values, positive, weight)
    if link in formulas:
        return formulas[link]
    if link == "dumais":
        return fit_dumais(values, positive, weight)
    sigmoid = fit_sigmoid(values, positive, weight, smoothing, boundary, scale)
    return (
        sigmoid
        if link == "sigmoid"
        else ModeratedLink.of(sigmoid, information, positive, weight, boundary, scale)
    )


def class_log_odds(links: Sequence[Link], values: Array, reading: Array | None) -> Array:
    """Log-odds of the positive class (one link), or of every class against the rest.

    Parameters
    ----------
    links : sequence of Link
        One for two classes, otherwise one per class.
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values.
    reading : array like ``values``, or None
        What the links read of the posterior.

    Returns
    -------
    array of the shape of ``values``
    """
    if values.ndim == 1:
        return links[0].log_odds(values, reading)
    return np.column_stack(
        [
            link.log_odds(values[:, k], None if reading is None else reading[:, k])
            for k, link in enumerate(links)
        ]
    )


def unmoderated(links: Sequence[Link]) -> list[Link]:
    """The sigmoids of moderated links, other links as they are."""
    return [link.sigmoid if isinstance(link, ModeratedLink) else link for link in links]


def moderated_log_odds(links: Sequence[Link], log_odds: Array, reading: Array | None) -> Array:
    """Log-odds of every class, by whatever link, moderated as the class's own link has it.

    Parameters
    ----------
    links : sequence of Link
        One per class.
    log_odds : array of shape (n_samples, n_classes)
    reading : array like ``log_odds``, or None
    """
    if reading is None:
        return log_odds
    columns = [
        link.moderated(log_odds[:, k], reading[:, k]) if isinstance(link, ModeratedLink) else log_odds[:, k]
        for k, link in enumerate(links)
    ]
    return np.column_stack(columns)


def winner_log_probabilities(log_odds: Array) -> Array:
    """Log-probabilities of all classes, that of the winner being its own one-versus-rest probability.

    Where the one-versus-rest probabilities sum to less than 1, it is the winner's share of them. The
    other classes share the rest in proportion.

    Parameters
    ----------
    log_odds : array of shape (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples, n_classes)
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
    """Log-probabilities of all classes; one-versus-rest probabilities are normalised.

    Parameters
    ----------
    log_odds : array of shape (n_samples,) or (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples, n_classes)
    """
    if log_odds.ndim == 1:
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
    logs = log_expit(log_odds)
    none = np.isneginf(logs).all(axis=1)  # every class ruled out: they are equals
    logs[none] = 0.0
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def normalised_log_odds(logs: Array) -> Array:
    """Log-odds of every class against all others, ``log p_k / (1 - p_k)``.

    Parameters
    ----------
    logs : array of shape (n_samples, n_classes)
        Logarithms of numbers that the probabilities are in proportion to.

    Returns
    -------
    array of shape (n_samples, n_classes)
    """
    rows, top = np.arange(len(logs)), logs.argmax(axis=1)
    others = logs.copy()
    others[rows, top] = -np.inf
    share = others - logsumexp(logs, axis=1, keepdims=True)  # at most a half
    log_odds = share - np.log1p(-np.exp(share))
    # 1 - p loses its digits where p is nearly 1: there the sum of the others is at hand.
    log_odds[rows, top] = logs[rows, top] - logsumexp(others, axis=1)
    return np.asarray(log_odds)
