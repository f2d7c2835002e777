r"""Multivariate losses, and the labelling that violates the margin most under each.

For scores :math:`s_i = w'x_i` a loss :math:`\Delta` defines the function

.. math:: R(s) = \max_{\bar y'} \; \Delta(\bar y', \bar y) - \sum_i (y_i - y'_i) s_i

(Joachims 2005, equation 7, less the terms of the true labelling). The labelling of the maximum gives
a plane ``loss - c's`` that touches R from below, with ``c_i = y_i - y'_i`` times the weight of row i.

If only some of several rows with the same score are labelled wrongly in the maximum, the rows share
the error equally. The result is the mean of several such planes, which touches R too, and does not
depend on the order of the rows. Scores, and values of labellings, that differ by rounding only
count as equal. The plane is then the same on every machine, and touches R up to rounding.

A new loss is one class with ``most_violated`` and ``ranking``, and its name in ``LOSSES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from bayes_svm.multivariate.contingency import (
    AtKLoss,
    AtLeastKLoss,
    ContingencyLoss,
    FBetaLoss,
    Split,
    UserLoss,
)
from bayes_svm.multivariate.ranked import sums
from bayes_svm.multivariate.ties import TIE, on_grid
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["LOSSES", "LOSS_NAMES", "Loss", "loss_of"]


class Loss(Protocol):
    """A loss, bound to the labels of the training rows."""

    @property
    def ranking(self) -> bool:
        """Whether the loss judges the order of the rows only, so that no intercept is trained."""
        ...

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        """A plane ``loss - c's`` that touches R at the given scores.

        Parameters
        ----------
        scores : array of shape (n_samples,)
            Scores of the training rows.

        Returns
        -------
        loss : float
            Loss of the labelling that violates the margin most.
        c : array of shape (n_samples,)
            Coefficients of the plane.
        """
        ...


@dataclass(frozen=True)
class ErrorLoss:
    r""":math:`\Delta = 2 (b + c)`, for which R is twice the sum of the hinge losses.

    See Theorem 3 of Joachims 2005. ``sign`` is 1 for a positive row and -1 for a negative one.
    """

    ranking: ClassVar[bool] = False
    sign: Array
    weight: Array

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        # The loss is a sum over the rows, so each row is labelled on its own.
        wrong = np.where(self.sign * on_grid(scores) < 1.0 - TIE, 2.0 * self.weight, 0.0)
        return float(wrong.sum()), self.sign * wrong


@dataclass(frozen=True)
class RocAreaLoss:
    r""":math:`\Delta` = 100 times the share of swapped pairs, in which pairs count ``w_i w_j``.

    Loss and coefficients are those of Algorithm 3 of Joachims 2005 times
    ``100 / (positives * negatives)``.
    """

    ranking: ClassVar[bool] = True
    positives: Indices
    negatives: Indices
    weight: Array

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        # A pair is swapped if the score of the positive row is less than 1/2 above that of the
        # negative row. Both searches below compare the same two rounded numbers, so they agree on every pair.
        scores = on_grid(scores)
        high, low = scores[self.positives] - 0.25, scores[self.negatives] + 0.25
        high_order, low_order = np.argsort(high), np.argsort(low)
        high, low = high[high_order], low[low_order]
        high_rows, low_rows = self.positives[high_order], self.negatives[low_order]
        high_weight, low_weight = self.weight[high_rows], self.weight[low_rows]
        high_sums, low_sums = sums(high_weight), sums(low_weight)
        swapped = low_weight * high_sums[np.searchsorted(high, low, side="left")]
        coefficients = np.empty(len(scores))
        above = low_sums[-1] - low_sums[np.searchsorted(low, high, side="right")]
        scale = 100.0 / (high_sums[-1] * low_sums[-1])
        coefficients[high_rows] = 2.0 * scale * high_weight * above
        coefficients[low_rows] = -2.0 * scale * swapped
        return float(scale * swapped.sum()), coefficients


@dataclass(frozen=True)
class _Problem:
    """What a loss is made from: its name, the labels and weights of the rows, and its parameters."""

    name: str
    positive: Mask
    weight: Array
    beta: float
    k: int | None

    @property
    def split(self) -> Split:
        """The rows of both classes, if the weights are whole numbers."""
        return Split.of(self.positive, self.weight)

    def f1(self) -> Loss:
        if self.beta != 1.0:
            raise ValueError(f"beta={self.beta} has no meaning for loss='f1': use loss='f_beta'.")
        return FBetaLoss(self.split, 1.0)

    def f_beta(self) -> Loss:
        if not (np.isfinite(self.beta) and self.beta > 0):
            raise ValueError(f"beta={self.beta} must be above 0, and finite.")
        return FBetaLoss(self.split, self.beta)

    def at_k(self, precision: bool) -> Loss:
        split = self.split
        total = split.n_positive + split.n_negative
        if self.k is None or not 1 <= self.k <= total:
            raise ValueError(
                f"loss={self.name!r} needs k from 1 to the number of rows, {total}; got k={self.k}."
            )
        kind = AtKLoss if self.k >= split.n_positive else AtLeastKLoss
        return kind(split, self.k, self.k if precision else split.n_positive)

    def break_even(self) -> Loss:
        split = self.split
        return AtKLoss(split, split.n_positive, split.n_positive)

    def error(self) -> Loss:
        return ErrorLoss(np.where(self.positive, 1.0, -1.0), self.weight)

    def roc_area(self) -> Loss:
        return RocAreaLoss(np.flatnonzero(self.positive), np.flatnonzero(~self.positive), self.weight)


LOSSES: dict[str, Callable[[_Problem], Loss]] = {
    "error": _Problem.error,
    "f1": _Problem.f1,
    "f_beta": _Problem.f_beta,
    "precision_at_k": lambda problem: problem.at_k(precision=True),
    "recall_at_k": lambda problem: problem.at_k(precision=False),
    "break_even": _Problem.break_even,
    "roc_area": _Problem.roc_area,
}
LOSS_NAMES = tuple(LOSSES)


def loss_of(
    loss: str | UserLoss,
    positive: Mask,
    weight: Array | None = None,
    *,
    beta: float = 1.0,
    k: int | None = None,
) -> Loss:
    """A loss by name, or a function ``loss(a, b, c, d)`` of contingency tables.

    Parameters
    ----------
    loss : str or callable
        One of ``LOSS_NAMES``, or a function of the numbers of true positives, false positives,
        false negatives and true negatives, given as arrays that broadcast.
    positive : array of bool of shape (n_samples,)
        Which rows are positive.
    weight : array of shape (n_samples,), optional
        Counts of the rows; 1 by default. Only "error" and "roc_area" accept fractions.
    beta : float
        Weight of recall in "f_beta".
    k : int, optional
        Number of rows predicted positive, for "precision_at_k" and "recall_at_k".

    Returns
    -------
    Loss
        The loss, for scores of these rows.

    Raises
    ------
    ValueError
        If one of the classes is empty, k or beta is out of range, the loss does not accept
        fractional weights, or a function returns values that are not those of a loss.
    """
    weight = np.ones(len(positive)) if weight is None else weight
    for members, of in ((weight[positive], "positive"), (weight[~positive], "negative")):
        if not np.any(members > 0):
            raise ValueError(f"There are no {of} rows: a loss between two classes needs both.")
    if callable(loss):
        return ContingencyLoss.of(Split.of(positive, weight), loss)
    if loss not in LOSSES:
        raise ValueError(f"Unknown loss {loss!r}: use one of {LOSS_NAMES} or a function loss(a, b, c, d).")
    return LOSSES[loss](_Problem(loss, positive, weight, beta, k))
