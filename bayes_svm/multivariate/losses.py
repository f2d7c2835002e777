r"""Multivariate losses, and the labelling that violates the margin most under each.

For scores :math:`s_i = w'x_i` a loss :math:`\Delta` asks for

.. math:: R(s) = \max_{\bar y'} \; \Delta(\bar y', \bar y) - \sum_i (y_i - y'_i) s_i

(Joachims 2005, equation 7; the terms of the true labelling subtracted). The maximum is a plane
``loss - c's`` with ``c_i = y_i - y'_i``, times a weight where there are weights. Of rows with the
same score, of which only some would be labelled wrongly, each takes the same share: the mean of
several maximal planes is a maximal plane, and this one does not depend on the order of the rows.
Scores, and values of labellings, that differ by rounding only count as equal: the plane is then
the same on every machine, and maximal up to rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array

__all__ = ["LOSS_NAMES", "RANKING_LOSSES", "Loss", "loss_of"]

Labels = NDArray[np.bool_]
UserLoss = Callable[[Any, Any, Any, Any], Any]

LOSS_NAMES = ("error", "f1", "f_beta", "precision_at_k", "recall_at_k", "break_even", "roc_area")
RANKING_LOSSES = ("precision_at_k", "recall_at_k", "break_even", "roc_area")
TIE = 2.0**-38  # share of the largest score, or value, below which two count as equal
BLOCK = 2**20  # entries of a table of contingency tables looked at in one go


class Loss(Protocol):
    """A loss bound to the labels of the training rows."""

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        """Loss and coefficients ``c`` of a plane ``loss - c's`` that is R at these scores."""
        ...


def loss_of(
    name: str | UserLoss,
    positive: Labels,
    weight: Array | None = None,
    *,
    beta: float = 1.0,
    k: int | None = None,
) -> Loss:
    """A loss by name, or a function ``loss(a, b, c, d)`` of contingency tables.

    Parameters
    ----------
    name : str or callable
        One of ``LOSS_NAMES``, or a function of the numbers of true positives, false positives,
        false negatives and true negatives, given as arrays that broadcast.
    positive : array of bool of shape (n_samples,)
    weight : array of shape (n_samples,), optional
        Counts of the rows. Only "error" and "roc_area" have a meaning for fractions.
    beta : float
        For "f_beta".
    k : int, optional
        Number of rows predicted positive, for "precision_at_k" and "recall_at_k".

    Raises
    ------
    ValueError
        If one of the classes is empty, k or beta is out of range, a weight is a fraction that the
        loss has no meaning for, or a function returns what is not a loss.
    """
    weight = np.ones(len(positive)) if weight is None else weight
    for members, of in ((weight[positive], "positive"), (weight[~positive], "negative")):
        if not np.any(members > 0):
            raise ValueError(f"There are no {of} rows: a loss between two classes needs both.")
    if name == "error":
        return ErrorLoss(np.where(positive, 1.0, -1.0), weight)
    if name == "roc_area":
        return RocAreaLoss(np.flatnonzero(positive), np.flatnonzero(~positive), weight)
    split = _Split.of(positive, weight)
    if callable(name):
        return ContingencyLoss(split, _checked_table(name, split))
    if name in ("f1", "f_beta"):
        if not (np.isfinite(beta) and beta > 0):
            raise ValueError(f"beta={beta} must be above 0, and finite.")
        return FBetaLoss(split, beta if name == "f_beta" else 1.0)
    if name == "break_even":
        return AtKLoss(split, split.n_positive, split.n_positive)
    if name not in ("precision_at_k", "recall_at_k"):
        raise ValueError(f"Unknown loss {name!r}: use one of {LOSS_NAMES} or a function loss(a, b, c, d).")
    total = split.n_positive + split.n_negative
    if k is None or not 1 <= k <= total:
        raise ValueError(f"loss={name!r} needs k from 1 to the number of rows, {total}; got k={k}.")
    kind = AtKLoss if k >= split.n_positive else AtLeastKLoss
    return kind(split, k, k if name == "precision_at_k" else split.n_positive)


@dataclass(frozen=True)
class ErrorLoss:
    r""":math:`\Delta = 2 (b + c)`: the sum of hinge losses, twice (Theorem 3 of Joachims 2005)."""

    sign: Array
    weight: Array

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        """Every row decides for itself."""
        wrong = np.where(self.sign * _on_grid(scores) < 1.0 - TIE, 2.0 * self.weight, 0.0)
        return float(wrong.sum()), self.sign * wrong


@dataclass(frozen=True)
class RocAreaLoss:
    r""":math:`\Delta` = 100 times the share of swapped pairs, weighted by ``w_i w_j``.

    Loss and coefficients are those of Algorithm 3 times ``100 / (positives * negatives)``.
    """

    positives: NDArray[np.intp]
    negatives: NDArray[np.intp]
    weight: Array

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        """A pair is swapped where its scores differ by less than 1/2."""
        # Both sides compare the same two rounded numbers, and so agree on every pair.
        scores = _on_grid(scores)
        high, low = scores[self.positives] - 0.25, scores[self.negatives] + 0.25
        high_order, low_order = np.argsort(high), np.argsort(low)
        high, low = high[high_order], low[low_order]
        high_rows, low_rows = self.positives[high_order], self.negatives[low_order]
        high_weight, low_weight = self.weight[high_rows], self.weight[low_rows]
        high_sums, low_sums = _sums(high_weight), _sums(low_weight)
        swapped = low_weight * high_sums[np.searchsorted(high, low, side="left")]
        coefficients = np.empty(len(scores))
        above = low_sums[-1] - low_sums[np.searchsorted(low, high, side="right")]
        scale = 100.0 / (high_sums[-1] * low_sums[-1])
        coefficients[high_rows] = 2.0 * scale * high_weight * above
        coefficients[low_rows] = -2.0 * scale * swapped
        return float(scale * swapped.sum()), coefficients


@dataclass(frozen=True)
class _Split:
    """Rows of both classes, each row counted as often as its weight says."""

    positives: NDArray[np.intp]
    negatives: NDArray[np.intp]
    counts: NDArray[np.intp] | None  # None: every row once

    @classmethod
    def of(cls, positive: Labels, weight: Array) -> _Split:
        if np.any(weight != np.rint(weight)):
            raise ValueError(
                "This loss counts rows in a contingency table: sample_weight must be whole numbers, as a "
                "fraction of a row has no meaning for it. Use loss='error' or 'roc_area' with fractions."
            )
        counts = None if np.all(weight == 1) else weight.astype(np.intp)
        return cls(np.flatnonzero(positive), np.flatnonzero(~positive), counts)

    @property
    def n_positive(self) -> int:
        return self._number(self.positives)

    @property
    def n_negative(self) -> int:
        return self._number(self.negatives)

    def _number(self, rows: NDArray[np.intp]) -> int:
        return len(rows) if self.counts is None else int(self.counts[rows].sum())

    def sorted(self, scores: Array, rows: NDArray[np.intp]) -> Array:
        """Scores of some rows, ascending, repeated by their counts."""
        values = scores[rows] if self.counts is None else np.repeat(scores[rows], self.counts[rows])
        values.sort()
        return values

    def coefficients(
        self, scores: Array, positives: Array, negatives: Array, a: int, b: int, share: float
    ) -> Array:
        """``y - y'`` where the a highest positives and the b highest negatives are labelled 1.

        Those of negatives are multiplied by ``share``.
        """
        lowest = _lowest(scores[self.positives], positives, self.n_positive - a)
        highest = _lowest(-scores[self.negatives], -negatives[::-1], b)
        c = np.empty(len(scores))
        c[self.positives] = 2.0 * lowest
        c[self.negatives] = -2.0 * share * highest
        return c if self.counts is None else c * self.counts


def _on_grid(scores: Array) -> Array:
    """Scores rounded such that those which differ by rounding become equal."""
    step = TIE * 2.0 ** np.ceil(np.log2(max(float(np.abs(scores).max(initial=0.0)), 2.0**-900)))
    return np.asarray(np.rint(scores / step) * step)


def _first_largest(values: Array) -> int:
    """The first of the values that are largest up to rounding."""
    largest = float(values.max())
    return int(np.argmax(values >= largest - TIE * max(1.0, abs(largest))))


def _sums(values: Array) -> Array:
    """Sums of the first 0, 1, ..., n values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _lowest(values: Array, ascending: Array, number: int) -> Array:
    """Share of each value that is among the lowest ``number`` of the sorted ones."""
    if number == 0:
        return np.zeros(len(values))
    last = ascending[number - 1]
    below, tied = np.searchsorted(ascending, last, side="left"), values == last
    share = (number - below) / (np.searchsorted(ascending, last, side="right") - below)
    return np.where(tied, share, values < last)


@dataclass(frozen=True)
class _Stratified(ABC):
    """The best labelling of every contingency table: Algorithm 2, given the sorted scores.

    ``lost[a]`` and ``gained[b]`` are what a table adds to the loss: minus twice the sum of the
    lowest positive scores but a, and twice the sum of the b highest negative ones.
    """

    split: _Split

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        scores = _on_grid(scores)
        positives = self.split.sorted(scores, self.split.positives)
        negatives = self.split.sorted(scores, self.split.negatives)
        lost, gained = -2.0 * _sums(positives)[::-1], 2.0 * _sums(negatives[::-1])
        loss, a, b = self._best_table(lost, gained, negatives[::-1])
        return loss, self.split.coefficients(scores, positives, negatives, a, b, self._share(a, b))

    @abstractmethod
    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        """Largest sum of loss, ``lost[a]`` and ``gained[b]``, and the table (a, b) it belongs to."""

    def _share(self, a: int, b: int) -> float:
        """What a negative counts that is labelled 1."""
        return 1.0


@dataclass(frozen=True)
class AtKLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - a / m)` over the labellings with ``a + b = k``, k at least P.

    With m = k precision at k, with m = P, the number of positives, recall at k, and with k = P
    too the precision-recall break-even point.

    The b negatives labelled 1 count as the P - a positives they displace, each as their mean:
    ``c_i`` of a negative is multiplied by ``(P - a) / b``. As printed, the paper's constraint
    compares sums of unequal numbers of scores. Where k is above P, minus a constant for every row
    then satisfies it, and nothing is learnt; nor is R an upper bound of the loss of the k highest
    rows, which it is here.
    """

    k: int
    denominator: int

    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        a = np.arange(max(0, self.k - len(negatives)), len(lost))
        b = self.k - a
        share = (len(lost) - 1 - a) / np.maximum(b, 1)
        loss = 100.0 * (1.0 - a / self.denominator)
        best = _first_largest(loss + lost[a] + share * gained[b])
        return float(loss[best]), int(a[best]), int(b[best])

    def _share(self, a: int, b: int) -> float:
        return (self.split.n_positive - a) / b if b else 1.0


@dataclass(frozen=True)
class AtLeastKLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - \min(a, k) / m)` over the labellings with ``a + b >= k``, k below P.

    m is that of :class:`AtKLoss`. The true labelling is one of these, and not one of those with
    exactly k, which a constant for every row beats.
    """

    k: int
    denominator: int

    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        a = np.arange(max(0, self.k - len(negatives)), len(lost))
        b = np.maximum(np.count_nonzero(negatives > 0), self.k - a)
        loss = 100.0 * (1.0 - np.minimum(a, self.k) / self.denominator)
        best = _first_largest(loss + lost[a] + gained[b])
        return float(loss[best]), int(a[best]), int(b[best])


@dataclass(frozen=True)
class FBetaLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - (1 + \beta^2) a / (a + b + \beta^2 P))`, P the number of positives.

    For fixed a both the loss and the sum of the b highest negative scores are concave in b: the
    best b is where their common increment turns, found for all a at once by bisection.
    """

    beta: float

    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        a = np.arange(len(lost))
        numerator = 100.0 * (1.0 + self.beta**2) * a
        base = a + self.beta**2 * (len(lost) - 1)
        low, high = np.zeros(len(a), dtype=np.intp), np.full(len(a), len(negatives))
        for _ in range(len(negatives).bit_length()):
            middle = np.minimum((low + high) // 2, len(negatives) - 1)
            denominator = base + middle
            rises = numerator / (denominator * (denominator + 1.0)) + 2.0 * negatives[middle] > TIE
            np.copyto(low, middle + 1, where=rises & (low < high))
            np.copyto(high, middle, where=~rises & (low < high))
        loss = 100.0 - numerator / (base + low)
        best = _first_largest(loss + lost + gained[low])
        return float(loss[best]), best, int(low[best])


@dataclass(frozen=True)
class ContingencyLoss(_Stratified):
    """Any function of the contingency table, as the array of its values by a and b."""

    table: Array

    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        step = max(1, BLOCK // len(gained))
        best, where = -np.inf, (0, 0)
        for start in range(0, len(lost), step):
            values = self.table[start : start + step] + gained
            values += lost[start : start + step, None]
            flat = int(values.argmax())
            if values.flat[flat] > best:
                best = values.flat[flat]
                where = (start + flat // len(gained), flat % len(gained))
        return float(self.table[where]), *where


def _checked_table(function: UserLoss, split: _Split) -> Array:
    """Values of a function of contingency tables: finite, and none negative."""
    a, b = np.arange(split.n_positive + 1)[:, None], np.arange(split.n_negative + 1)[None, :]
    require_bytes(
        2 * 8 * a.size * b.size,
        f"A loss that is a function of {a.size:,} x {b.size:,} contingency tables",
        "Use fewer rows, or a loss by name, which needs no table.",
    )
    c, d = split.n_positive - a, split.n_negative - b
    values = np.asarray(function(a, b, c, d), dtype=np.float64)
    try:
        table = np.broadcast_to(values, (a.size, b.size))
    except ValueError:
        raise ValueError(
            f"The loss returned shape {values.shape} for tables of shape {(a.size, b.size)}: it must work "
            "elementwise on arrays; numpy.vectorize makes it so."
        ) from None
    bad = ~(np.isfinite(table) & (table >= 0))
    if bad.any():
        i, j = (int(index[0]) for index in np.nonzero(bad))
        raise ValueError(
            f"The loss is {table[i, j]} for the contingency table of {i} true positives, {j} false "
            f"positives, {split.n_positive - i} false negatives and {split.n_negative - j} true "
            "negatives: it must be finite and at least 0 for every table."
        )
    return table
