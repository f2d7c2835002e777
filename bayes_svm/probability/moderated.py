"""Platt's sigmoid, shrunk towards a limit far from the training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.probability.link import OFFSET_SCALE, Link, Sample
from bayes_svm.probability.sigmoid import SigmoidLink
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["ModeratedLink"]

# This share of the training points, those with the least information, is passed over as outliers.
POORLY_KNOWN = 0.01
# At least so many copies of rows are passed over, however few rows there are.
OUTLIERS = 1.0
# Moderation begins at this share of the information that every other training point has.
REFERENCE_SHARE = 0.05
# The limit of the log-odds far from the data is computed from the labels of so many outermost rows.
OUTERMOST = 5.0
# Largest log-odds that Laplace's rule of succession gives for so many rows.
MOST_CERTAIN = float(np.log(OUTERMOST + 1.0))
# Logarithms of the information that agree to so many decimals count as equal.
DIGITS = 6
# Size of the term that keeps the order of the decision values where the log-odds reach the limit.
TIE_BREAK = 1e-9


@dataclass(frozen=True)
class ModeratedLink(Link):
    r"""Platt's sigmoid, shrunk towards a limit far from the training data.

    .. math:: \log \frac{p(+)}{p(-)} = m z + (1 - m) z_\infty, \qquad z = A f(x) + B, \qquad
              m = \min \left( 1, \frac{I(x)}{I_0} \right), \qquad
              I(x) = \frac{1}{s^2(x)} - \frac{1}{k(x, x) / \lambda}

    The information I(x) is the precision of f(x) that the data add to the prior's, in Kwok's posterior.

    The reference :math:`I_0` is a twentieth of the information that 99 % of the training points reach. At
    least one point is passed over, so that a single outlier does not count as data. The information about
    a training point is computed from the half of the data that it is not in. Among the data, therefore,
    I is larger than :math:`I_0` and the link is the sigmoid. Far from the data I falls, with an rbf kernel
    as :math:`k^2`, with a polynomial one as :math:`1 / f^2`, and the log-odds go to the limit
    :math:`z_\infty`.

    The limit comes from the training rows that are farthest out. If :math:`n_+` of the five with the least
    information are positive, Laplace's rule of succession gives

    .. math:: p_\infty(+) = \frac{n_+ + 1}{5 + 2},

    which is between 1/7 and 6/7. On test data this was better than 1/2 and better than the base rate:
    ``docs/results/moderation.md``. With more columns than rows the limit is shrunk towards the log-odds
    of the machine's boundary as much as the sigmoid's offset is: see
    :func:`~bayes_svm.probability.calibration.offset_scale`.

    Parameters
    ----------
    sigmoid : SigmoidLink
        The link among the training data.
    reference : float
        The information :math:`I_0`; 0 for a link that does not moderate.
    limit : float, default=0.0
        The log-odds :math:`z_\infty` far from the data.
    """

    sigmoid: SigmoidLink
    reference: float
    limit: float = 0.0

    @classmethod
    def of(cls, sigmoid: SigmoidLink, sample: Sample) -> ModeratedLink:
        """Moderate a sigmoid, given the information about each training point that the others hold.

        Parameters
        ----------
        sigmoid : SigmoidLink
            The sigmoid fitted to the sample.
        sample : Sample
            Left-out values, labels and weights; ``reading`` is the information, None for no moderation.

        Returns
        -------
        ModeratedLink
            The link with its reference and its limit.
        """
        information, weight = sample.reading, sample.weight
        if information is None:
            return cls(sigmoid, 0.0)
        order = np.argsort(information, kind="stable")
        mass = np.cumsum(weight[order])
        outlying = max(POORLY_KNOWN * mass[-1], OUTLIERS) * (1 + 1e-12)
        little = information[order[min(int(np.searchsorted(mass, outlying, side="right")), len(order) - 1)]]
        if not 0.0 < little < np.inf:
            known = information[np.isfinite(information) & (information > 0)]
            little = known.min() if len(known) else 0.0
        away = _limit(information, sample.positive, weight, order, mass) - sample.boundary
        limit = sample.boundary + sample.scale / OFFSET_SCALE * away
        return cls(
            sigmoid, REFERENCE_SHARE * float(little), float(np.clip(limit, -MOST_CERTAIN, MOST_CERTAIN))
        )

    @property
    def unmoderated(self) -> Link:
        """The sigmoid alone."""
        return self.sigmoid

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """The sigmoid's log-odds, shrunk towards the limit; without a reading, the sigmoid's alone."""
        return self.moderated(self.sigmoid.log_odds(values), reading)

    def moderated(self, log_odds: Array, reading: Array | None) -> Array:
        """Log-odds, shrunk towards the limit where the information falls below the reference."""
        if reading is None or self.reference == 0.0:
            return log_odds
        share = self._share(reading)
        # Where the data say nothing all log-odds would be equal: keep the order of the decision values.
        order = TIE_BREAK * log_odds / (1.0 + np.abs(log_odds))
        return np.where(share < 1.0, self.limit + share * (log_odds - self.limit) + order, log_odds)

    def moderation(self, reading: Array) -> Array | None:
        """``1 - m``: 0 among the data, 1 where the data say nothing; None for a link without a reference."""
        return None if self.reference == 0.0 else 1.0 - self._share(reading)

    def _share(self, reading: Array) -> Array:
        """The sigmoid's share m of the log-odds."""
        with np.errstate(over="ignore"):
            return np.minimum(reading / self.reference, 1.0)


def _limit(information: Array, positive: Mask, weight: Array, order: Indices, mass: Array) -> float:
    """Log-odds by Laplace's rule from the five copies of rows with the least information.

    ``order`` sorts the information, and ``mass`` is the sum of the weights in this order.
    """
    with np.errstate(divide="ignore"):
        level = np.round(np.log(information), DIGITS)  # ties despite rounding
    edge = level[order[min(int(np.searchsorted(mass, OUTERMOST)), len(order) - 1)]]
    # Of the rows at the edge, which are equally far out, an equal share of each is taken.
    within, at_edge = np.where(level < edge, weight, 0.0), np.where(level == edge, weight, 0.0)
    share = min(1.0, (OUTERMOST - within.sum()) / at_edge.sum()) if at_edge.any() else 0.0
    taken = within + share * at_edge
    return float(np.log((taken[positive].sum() + 1.0) / (taken[~positive].sum() + 1.0)))
