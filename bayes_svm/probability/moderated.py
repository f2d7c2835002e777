"""Platt's sigmoid, drawn to a limit where the data end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.probability.calibration import SigmoidLink
from bayes_svm.probability.link import OFFSET, Link, Sample
from bayes_svm.utils.types import Array, Mask

__all__ = ["ModeratedLink"]

# The information of this quantile of the training points, times this share, is where moderation begins.
LITTLE, SHARE = 0.01, 0.05
# So many copies of rows may be outliers, however few rows there are.
OUTLIER = 1.0
# The labels of so many outermost rows say where the moderated log-odds go,
FRINGE = 5.0
# which is never beyond what Laplace's rule of succession makes of them.
MOST_CERTAIN = float(np.log(FRINGE + 1.0))
# Digits of the logarithm of an information that count.
DIGITS = 6
# Change of the log-odds, relative to their size, by which the order of the values is kept at the limit.
TIE = 1e-9


@dataclass(frozen=True)
class ModeratedLink(Link):
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

    @classmethod
    def of(cls, sigmoid: SigmoidLink, sample: Sample) -> ModeratedLink:
        """From the information about training points that the others hold, their labels and weights."""
        information, weight = sample.reading, sample.weight
        if information is None:
            return cls(sigmoid, 0.0)
        order = np.argsort(information, kind="stable")
        mass = np.cumsum(weight[order])
        outlying = max(LITTLE * mass[-1], OUTLIER) * (1 + 1e-12)
        little = information[order[min(int(np.searchsorted(mass, outlying, side="right")), len(order) - 1)]]
        if not 0.0 < little < np.inf:
            known = information[np.isfinite(information) & (information > 0)]
            little = known.min() if len(known) else 0.0
        away = _limit(information, sample.positive, weight) - sample.boundary
        limit = sample.boundary + sample.scale / OFFSET * away
        return cls(sigmoid, SHARE * float(little), float(np.clip(limit, -MOST_CERTAIN, MOST_CERTAIN)))

    @property
    def unmoderated(self) -> Link:
        """The sigmoid alone."""
        return self.sigmoid

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
