r"""The method of multipliers on the shares of the rows, where cutting planes would be too many.

.. math:: \max_{z} \; C \ell(z) - \tfrac12 \Bigl|C \sum_i d_i z_i x_i\Bigr|^2

is the dual of the problem of :mod:`bayes_svm.multivariate.cutting_plane`, with the shares z, their mean
loss :math:`\ell` and coefficients :math:`c_i = d_i z_i` of :mod:`bayes_svm.multivariate.shares`. A plane is a
single labelling, and the optimum needs about as many as there are rows with a share between 0 and 1. Here all
shares change in each round, which maximises the dual less :math:`C |z - z_k|^2 / (2 \sigma)`. Newton's method
finds the weights w: with the best shares for given scores, the objective is differentiable, and only rows
whose shares move are in the second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bayes_svm.multivariate.balanced_shares import BalancedShares
from bayes_svm.multivariate.contingency import AtKLoss, FBetaLoss
from bayes_svm.multivariate.losses import Loss
from bayes_svm.multivariate.moving import Balanced, Pooled
from bayes_svm.multivariate.products import LinearProducts, Products
from bayes_svm.multivariate.shares import FBetaShares
from bayes_svm.utils.types import Array

__all__ = ["Mixture", "planes_before", "rounds"]

# Level and coefficients of a plane below R, and the weights of a point.
Mixture = tuple[float, Array, Array]

# Rounds begin after this many planes. With at most so many weights, planes are often enough.
PLANES, PLANES_IF_NARROW, WIDE = 100, 500, 1000
# Rounds, Newton steps in a round, and products with the second derivative in a step.
ROUNDS, STEPS, INNER = 40, 10, 60
# A round ends when the gradient, relative to the weights, is this large; each round is more exact.
FIRST_GRADIENT, DECLINE = 0.3, 0.7
# Squared residual of a Newton step, relative to the gradient.
RESIDUAL = 0.1
# Halvings of a line search, which ends earlier where the slope is this share of the first one.
HALVINGS, FLAT = 7, 0.1
# First sigma, relative to the best step along which all shares are equal.
FIRST_SIGMA = 100.0
# Factor of sigma after a round that was solved in so many steps, divisor after one that was not.
GROWTH, SHRINK = 2.5, 2.0
# Largest sigma, relative to the one by which the loss of one row moves its share from 0 to 1.
LARGEST = 30.0


class Shares(Protocol):
    """Shares of the rows, and the best mixture of labellings with these shares."""

    @property
    def shares(self) -> Array:
        """The shares."""
        ...

    @property
    def level(self) -> float:
        """Mean loss of the mixture."""
        ...

    @property
    def worth(self) -> float:
        """What the first row that is labelled wrong adds to the loss."""
        ...

    def moved(self, shares: Array, scores: Array) -> Shares:
        """The best mixture of other shares, at these scores."""
        ...

    def nearest(self, target: Array, sigma: float) -> tuple[Array, Pooled | Balanced]:
        """Shares z with the largest loss, less ``|z - target|^2 / (2 sigma)``, and how they move."""
        ...


def no_shares(loss: FBetaLoss | AtKLoss) -> Shares | None:
    """Shares of 0, or None if the best mixtures are not known for the loss."""
    nothing = np.zeros(len(loss.split.direction))
    if isinstance(loss, AtKLoss):
        return BalancedShares(loss, nothing) if loss.k == loss.split.n_positive else None
    return FBetaShares.of(loss, nothing, nothing) if loss.beta >= 1 else None


def planes_before(products: Products, loss: Loss) -> int | None:
    """Number of cutting planes after which rounds are better, or None if there are none for the problem."""
    if not isinstance(products, LinearProducts) or not isinstance(loss, FBetaLoss | AtKLoss):
        return None
    if no_shares(loss) is None:
        return None
    return PLANES if products.n_weights > WIDE else PLANES_IF_NARROW


def rounds(products: Products, loss: Loss, C: float) -> Iterator[Mixture]:
    """Level and coefficients of a plane below R, and the weights of a point, after each round.

    Both tend to the optimum. There are no rounds if :func:`planes_before` gives None.
    """
    if not isinstance(products, LinearProducts) or not isinstance(loss, FBetaLoss | AtKLoss):
        return
    current = no_shares(loss)
    if current is None:
        return
    w, scores = np.zeros(products.n_weights), np.zeros(products.n_rows)
    direction, largest = loss.split.direction, LARGEST / current.worth
    vector = products.combined(direction)
    rows, square = float(np.abs(direction).sum()) / 2, float(vector @ vector)
    sigma = min(largest, FIRST_SIGMA * rows / (C * square)) if square > 0 else largest
    accuracy = FIRST_GRADIENT
    for _ in range(ROUNDS):
        problem = _Round(products, current, direction, C, sigma)
        w, scores, settled = problem.solved(w, scores, accuracy)
        shares, _ = problem.shares(scores)
        current = current.moved(shares, scores)
        yield current.level, direction * shares, w
        if settled:
            accuracy, sigma = DECLINE * accuracy, min(largest, GROWTH * sigma)
        else:
            sigma /= SHRINK


@dataclass(frozen=True)
class _Round:
    """The problem of one round, as a function of the weights.

    Parameters
    ----------
    products : LinearProducts
        The data.
    start : Shares
        The shares that the round starts from, and their prices.
    direction : array of shape (n_samples,)
        Coefficient of each row if its share is 1.
    C : float
        Penalty of the slack.
    sigma : float
        How far the shares may move.
    """

    products: LinearProducts
    start: Shares
    direction: Array
    C: float
    sigma: float

    def shares(self, scores: Array) -> tuple[Array, Pooled | Balanced]:
        """Best shares for these scores, and how they move."""
        pull = self.sigma * 2.0 * np.sign(self.direction) * scores
        return self.start.nearest(self.start.shares - pull, self.sigma)

    def solved(self, w: Array, scores: Array, accuracy: float) -> tuple[Array, Array, bool]:
        """Weights, scores, and whether the gradient became small enough."""
        for _ in range(STEPS):
            shares, moving = self.shares(scores)
            gradient = w - self.C * self.products.combined(self.direction * shares)
            if np.linalg.norm(gradient) <= accuracy * np.linalg.norm(w):
                return w, scores, True
            step = _conjugate_gradients(self._curvature(moving), -gradient)
            change = self.products.scores(step)
            length = self._length(w, scores, step, change, float(gradient @ step))
            w, scores = w + length * step, scores + length * change
        return w, scores, False

    def _curvature(self, moving: Pooled | Balanced) -> Callable[[Array], Array]:
        """Product with the second derivative."""
        part, direction = self.products.part(moving.rows), self.direction[moving.rows]
        sign = 2.0 * np.sign(direction)

        def times(step: Array) -> Array:
            change = moving.change(sign * part.scores(step))
            return np.asarray(step + self.C * self.sigma * part.combined(direction * change))

        return times

    def _length(self, w: Array, scores: Array, step: Array, change: Array, first: float) -> float:
        """About the length at which the objective stops falling along a step, at most 1."""
        square, mixed = float(step @ step), float(w @ step)

        def slope(length: float) -> float:
            shares, _ = self.shares(scores + length * change)
            return mixed + length * square - self.C * float((self.direction * shares) @ change)

        low, high, length = 0.0, 2.0, 1.0
        for _ in range(HALVINGS):
            rises = slope(length)
            if abs(rises) <= FLAT * abs(first) or (length == 1.0 and rises < 0):
                break
            low, high = (low, length) if rises > 0 else (length, high)
            length = (low + high) / 2
        return length


def _conjugate_gradients(times: Callable[[Array], Array], right: Array) -> Array:
    """About the solution of a positive definite system."""
    found, residual = np.zeros_like(right), right.copy()
    along, square = right.copy(), float(right @ right)
    enough = RESIDUAL * square
    for _ in range(INNER):
        image = times(along)
        length = square / float(along @ image)
        found += length * along
        residual -= length * image
        last, square = square, float(residual @ residual)
        if square <= enough:
            break
        along = residual + square / last * along
    return found
