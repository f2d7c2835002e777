r"""Shares of the rows for the break-even point, where as many positives as negatives are labelled wrong.

The mixtures of the labellings with ``a + b = P`` are exactly the shares between 0 and 1 whose sums over the
positives and over the negatives are equal, and their mean loss depends on the sum only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.multivariate.contingency import AtKLoss
from bayes_svm.multivariate.moving import Balanced
from bayes_svm.utils.types import Array

__all__ = ["BalancedShares"]


@dataclass(frozen=True)
class BalancedShares:
    """Shares of the rows, which sum to the same number for positives and negatives.

    Parameters
    ----------
    loss : AtKLoss
        The loss, with k the number of positives.
    shares : array of shape (n_samples,)
        The shares z.
    """

    loss: AtKLoss
    shares: Array

    @property
    def level(self) -> float:
        """Mean loss of the mixture."""
        split = self.loss.split
        wrong = float(split.weights(split.positives) @ self.shares[split.positives])
        return 100.0 * (1.0 - (split.n_positive - wrong) / self.loss.denominator)

    @property
    def worth(self) -> float:
        """What the first row that is labelled wrong adds to the loss."""
        return 100.0 / self.loss.denominator

    def moved(self, shares: Array, scores: Array) -> BalancedShares:
        """The mixture of other shares; it does not depend on the scores."""
        return BalancedShares(self.loss, shares)

    def nearest(self, target: Array, sigma: float) -> tuple[Array, Balanced]:
        """Shares z with the largest loss, less ``|z - target|^2 / (2 sigma)``, and how they move."""
        split = self.loss.split
        rows = np.concatenate([split.positives, split.negatives])
        sign = np.repeat([1.0, -1.0], [len(split.positives), len(split.negatives)])
        weight, own = split.weights(rows), target[rows]
        own[: len(split.positives)] += sigma * self.worth
        found = np.clip(own + sign * _multiplier(own, sign, weight), 0.0, 1.0)
        moving = (found > 0) & (found < 1)
        shares = np.zeros(len(target))
        shares[rows] = found
        return shares, Balanced(rows[moving], sign[moving], weight[moving])


def _multiplier(own: Array, sign: Array, weight: Array) -> float:
    """The number x at which the sum of ``sign * weight * clip(own + sign * x, 0, 1)`` is 0.

    The sum rises with x, linearly between the numbers where a share reaches 0 or 1.
    """
    low = np.where(sign > 0, -own, own - 1.0)
    knots = np.concatenate([low, low + 1.0])
    order = np.argsort(knots, kind="stable")
    knots, slope = knots[order], np.cumsum(np.concatenate([weight, -weight])[order])
    value = -float(weight[sign < 0].sum()) + np.append(0.0, np.cumsum(slope[:-1] * np.diff(knots)))
    after = int(np.searchsorted(value, 0.0))
    if after == 0:
        return float(knots[0])
    rise = value[after] - value[after - 1]
    return float(knots[after] - value[after] * (knots[after] - knots[after - 1]) / rise)
