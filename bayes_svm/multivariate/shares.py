r"""How often each row is labelled wrong by a mixture of labellings, and the best mixture for F_beta.

R is a maximum over labellings, so that a mixture of them gives a plane ``loss - c's`` below R too. It needs
the mean loss, and for row i the share :math:`z_i` of the mixture that labels it wrong, since
:math:`c_i = \pm 2 W_i z_i`. Of all mixtures with these shares, the one with the largest mean loss counts.

Let t run from 0 to 1 through the mixture, the number u of false negatives ascending. The loss is convex in
u, so that u is best spread as widely as the shares allow: positive i is labelled wrong where t is above
:math:`1 - z_i`. The loss is concave in the number v of false positives, and its increment in v falls as u
rises. So v falls with t, at most as far as if negative j were labelled wrong where t is below
:math:`z_j`, and otherwise such that the increment, the price of a false positive, is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import isotonic_regression

from bayes_svm.multivariate.contingency import FBetaLoss
from bayes_svm.multivariate.moving import Pooled
from bayes_svm.multivariate.ranked import sums
from bayes_svm.utils.types import Array

__all__ = ["FBetaShares"]


@dataclass(frozen=True)
class FBetaShares:
    """Shares of the rows, with the best mixture of labellings and what the loss is worth per row there.

    Parameters
    ----------
    loss : FBetaLoss
        The loss, with beta of at least 1: for others v need not fall with t.
    shares : array of shape (n_samples,)
        The shares z.
    level : float
        Mean loss of the mixture.
    cuts : array of shape (n_pieces + 1,)
        The mixture's tables change at these t.
    price : array of shape (n_pieces,)
        Increment of the loss by one more false positive, which falls with t.
    wrong : array of shape (n_knots,)
        Numbers of false negatives, ascending.
    height : array of shape (n_knots,)
        What each of them is worth: the loss and twice the scores of the negatives labelled 1.
    """

    loss: FBetaLoss
    shares: Array
    level: float
    cuts: Array
    price: Array
    wrong: Array
    height: Array

    @classmethod
    def of(cls, loss: FBetaLoss, shares: Array, scores: Array) -> FBetaShares:
        """The best mixture of these shares, and what false negatives are worth at these scores."""
        split = loss.split
        cuts, u, chain = _pieces(loss, shares)
        weight = np.diff(cuts)
        base = (1.0 + loss.beta**2) * split.n_positive - u
        v = chain.copy()
        # The price is about 100 (1 + beta^2) / y^2, with y = (base + v) / root. Pieces that have the
        # same price share their false positives, as in isotonic regression of y.
        some = u < split.n_positive
        root = np.sqrt(split.n_positive - u[some])
        if some.any():
            y = isotonic_regression((base + chain)[some] / root, sample_weight=weight[some] * root)
            v[some] = np.maximum(0.0, y * root - base[some])
        low = np.floor(v)
        least, more = loss.value(u, low), loss.value(u, low + 1.0)
        mean = least + (v - low) * (more - least)
        price = isotonic_regression(more - least, sample_weight=weight, increasing=False)
        wrong, height = loss.worth(*split.ranked(scores))
        return cls(loss, shares, float(weight @ mean), cuts, price, wrong, height)

    @property
    def worth(self) -> float:
        """What the first row that is labelled wrong adds to the loss."""
        return float((self.height[1] - self.height[0]) / (self.wrong[1] - self.wrong[0]))

    def moved(self, shares: Array, scores: Array) -> FBetaShares:
        """The best mixture of other shares, and what false negatives are worth at these scores."""
        return FBetaShares.of(self.loss, shares, scores)

    def nearest(self, target: Array, sigma: float) -> tuple[Array, Pooled]:
        """Shares z with the largest loss at the present prices, less ``|z - target|^2 / (2 sigma)``.

        Parameters
        ----------
        target : array of shape (n_samples,)
            Shares to be near to.
        sigma : float
            Weight of the loss.

        Returns
        -------
        shares : array of shape (n_samples,)
            The shares.
        Pooled
            How they move with their targets.
        """
        split, shares = self.loss.split, np.zeros(len(target))
        # The price is a falling function of the share itself: z - sigma * price(z) = target.
        at = np.repeat(self.cuts, 2)[1:-1]
        knots = np.maximum.accumulate(at - sigma * np.repeat(self.price, 2))
        own = target[split.negatives]
        shares[split.negatives] = np.interp(own, knots, at)
        # From an odd knot to the next, the price falls and the share stays.
        moving = split.negatives[np.searchsorted(knots, own, side="right") % 2 == 1]
        order = split.positives[np.argsort(-target[split.positives], kind="stable")]
        counts = split.weights(order)
        worth = np.diff(np.interp(sums(counts), self.wrong, self.height)) / counts
        fitted = isotonic_regression(
            target[order] + sigma * worth, sample_weight=counts, y_min=0.0, y_max=1.0, increasing=False
        )
        shares[order] = fitted
        inside = (fitted > 0) & (fitted < 1)
        number = np.cumsum(np.append(0, fitted[1:] != fitted[:-1]))[inside] + len(moving)
        rows = np.concatenate([moving, order[inside]])
        return shares, Pooled(rows, np.append(np.arange(len(moving)), number), split.weights(rows))


def _pieces(loss: FBetaLoss, shares: Array) -> tuple[Array, Array, Array]:
    """Pieces of [0, 1], and the false negatives and most spread false positives in each."""
    split = loss.split
    late, early = 1.0 - shares[split.positives], shares[split.negatives]
    cuts = np.unique(np.concatenate([[0.0, 1.0], late, early]))
    middle = (cuts[1:] + cuts[:-1]) / 2
    late_order, early_order = np.argsort(late), np.argsort(early)
    entered = sums(split.weights(split.positives[late_order]))
    left = sums(split.weights(split.negatives[early_order]))
    u = entered[np.searchsorted(late[late_order], middle)]
    return cuts, u, left[-1] - left[np.searchsorted(early[early_order], middle)]
