r"""Losses that are functions of the contingency table, and the labelling that violates the margin most.

Among the labellings with a true positives and b false positives, the most violated one labels the
a highest positives and the b highest negatives 1. Its value follows from sums of sorted scores, so
it is enough to search over the tables (Algorithm 2 of Joachims 2005).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayes_svm.multivariate.ties import TIE, first_largest, on_grid
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["AtKLoss", "AtLeastKLoss", "ContingencyLoss", "FBetaLoss", "Split", "sums"]

UserLoss = Callable[[Any, Any, Any, Any], Any]

# Entries of a table of losses that are looked at in one go.
BLOCK = 2**20


@dataclass(frozen=True)
class Split:
    """Rows of both classes, which count as often as their weights say.

    Parameters
    ----------
    positives : array of shape (n_positives,)
        Row numbers of the positives.
    negatives : array of shape (n_negatives,)
        Row numbers of the negatives.
    counts : array of shape (n_samples,) or None
        How often every row counts; None if each counts once.
    """

    positives: Indices
    negatives: Indices
    counts: Indices | None

    @classmethod
    def of(cls, positive: Mask, weight: Array) -> Split:
        """The split of some rows, or a ValueError if a weight is a fraction."""
        if np.any(weight != np.rint(weight)):
            raise ValueError(
                "This loss counts rows in a contingency table, so sample_weight must hold whole numbers. For "
                "fractions use loss='error' or loss='roc_area'."
            )
        counts = None if np.all(weight == 1) else weight.astype(np.intp)
        return cls(np.flatnonzero(positive), np.flatnonzero(~positive), counts)

    @property
    def n_positive(self) -> int:
        """Number of positives."""
        return self._number(self.positives)

    @property
    def n_negative(self) -> int:
        """Number of negatives."""
        return self._number(self.negatives)

    def _number(self, rows: Indices) -> int:
        return len(rows) if self.counts is None else int(self.counts[rows].sum())

    def sorted(self, scores: Array, rows: Indices) -> Array:
        """Scores of some rows in ascending order, each repeated as often as its row counts."""
        values = scores[rows] if self.counts is None else np.repeat(scores[rows], self.counts[rows])
        values.sort()
        return values

    def coefficients(
        self, scores: Array, positives: Array, negatives: Array, a: int, b: int, share: float
    ) -> Array:
        """``y - y'`` of the labelling in which the a highest positives and b highest negatives are 1.

        Parameters
        ----------
        scores : array of shape (n_samples,)
            Scores of the rows.
        positives : array of shape (n_positive,)
            Scores of the positives in ascending order.
        negatives : array of shape (n_negative,)
            Scores of the negatives in ascending order.
        a, b : int
            True positives and false positives.
        share : float
            Factor of the coefficients of the negatives.

        Returns
        -------
        array of shape (n_samples,)
            The coefficients.
        """
        lowest = _lowest(scores[self.positives], positives, self.n_positive - a)
        highest = _lowest(-scores[self.negatives], -negatives[::-1], b)
        c = np.empty(len(scores))
        c[self.positives] = 2.0 * lowest
        c[self.negatives] = -2.0 * share * highest
        return c if self.counts is None else c * self.counts


def sums(values: Array) -> Array:
    """Sums of the first 0, 1, ..., n values."""
    found = np.zeros(len(values) + 1)
    np.cumsum(values, out=found[1:])
    return found


def _lowest(values: Array, ascending: Array, number: int) -> Array:
    """1 for the ``number`` lowest values and 0 for the others; ties at the border share equally."""
    if number == 0:
        return np.zeros(len(values))
    last = ascending[number - 1]
    below, tied = np.searchsorted(ascending, last, side="left"), values == last
    share = (number - below) / (np.searchsorted(ascending, last, side="right") - below)
    return np.where(tied, share, values < last)


@dataclass(frozen=True)
class _Stratified(ABC):
    """A loss that is a function of the contingency table, for the rows of ``split``."""

    ranking: ClassVar[bool] = False
    split: Split

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        """A plane ``loss - c's`` that touches R at the given scores."""
        scores = on_grid(scores)
        positives = self.split.sorted(scores, self.split.positives)
        negatives = self.split.sorted(scores, self.split.negatives)
        lost, gained = -2.0 * sums(positives)[::-1], 2.0 * sums(negatives[::-1])
        loss, a, b = self._best_table(lost, gained, negatives[::-1])
        return loss, self.split.coefficients(scores, positives, negatives, a, b, self._share(a, b))

    @abstractmethod
    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        """The table (a, b) with the largest sum of loss, ``lost[a]`` and ``gained[b]``.

        Parameters
        ----------
        lost : array of shape (n_positive + 1,)
            ``lost[a]`` is minus twice the sum of all positive scores but the a highest.
        gained : array of shape (n_negative + 1,)
            ``gained[b]`` is twice the sum of the b highest negative scores.
        negatives : array of shape (n_negative,)
            Scores of the negatives, in descending order.

        Returns
        -------
        loss : float
            Loss of the table.
        a, b : int
            True positives and false positives.
        """

    def _share(self, a: int, b: int) -> float:
        """Factor of the scores of the negatives that are labelled 1."""
        return 1.0


@dataclass(frozen=True)
class AtKLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - a / m)` over the labellings with ``a + b = k``, for k at least P.

    P is the number of positives. With m = k the loss is that of precision at k, with m = P that of
    recall at k, and with m = k = P that of the precision-recall break-even point.

    The paper's constraint compares the sum of P - a positive scores with the sum of b negative
    scores, of which there are more if k is above P. The same negative score for every row then
    satisfies the constraint, and nothing is learnt. Here ``c_i`` of a negative is multiplied by
    ``(P - a) / b``: the b negatives together weigh as much as the P - a positives that they
    displace. R is then an upper bound of the loss of the k highest rows, which the paper's is not.
    """

    ranking: ClassVar[bool] = True
    k: int
    denominator: int

    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        a = np.arange(max(0, self.k - len(negatives)), len(lost))
        b = self.k - a
        share = (len(lost) - 1 - a) / np.maximum(b, 1)
        loss = 100.0 * (1.0 - a / self.denominator)
        best = first_largest(loss + lost[a] + share * gained[b])
        return float(loss[best]), int(a[best]), int(b[best])

    def _share(self, a: int, b: int) -> float:
        return (self.split.n_positive - a) / b if b else 1.0


@dataclass(frozen=True)
class AtLeastKLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - \min(a, k) / m)` over the labellings with ``a + b >= k``, for k below P.

    P and m are those of :class:`AtKLoss`. The true labelling labels P rows 1, so it is among these
    labellings. It is not among those with ``a + b = k``: with these alone, the same positive score
    for every row would satisfy the constraints, and nothing would be learnt.
    """

    ranking: ClassVar[bool] = True
    k: int
    denominator: int

    def _best_table(self, lost: Array, gained: Array, negatives: Array) -> tuple[float, int, int]:
        a = np.arange(max(0, self.k - len(negatives)), len(lost))
        b = np.maximum(np.count_nonzero(negatives > 0), self.k - a)
        loss = 100.0 * (1.0 - np.minimum(a, self.k) / self.denominator)
        best = first_largest(loss + lost[a] + gained[b])
        return float(loss[best]), int(a[best]), int(b[best])


@dataclass(frozen=True)
class FBetaLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - (1 + \beta^2) a / (a + b + \beta^2 P))`, with P positives.

    For fixed a, both the loss and the sum of the b highest negative scores are concave in b. The
    best b is where the increment of their sum becomes negative. Bisection finds it for all a at
    once.
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
        best = first_largest(loss + lost + gained[low])
        return float(loss[best]), best, int(low[best])


@dataclass(frozen=True)
class ContingencyLoss(_Stratified):
    """Any function of the contingency table; ``table[a, b]`` is its value."""

    table: Array

    @classmethod
    def of(cls, split: Split, function: UserLoss) -> ContingencyLoss:
        """The loss of a function that the user gave."""
        return cls(split, _checked_table(function, split))

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


def _checked_table(function: UserLoss, split: Split) -> Array:
    """Values of the user's function for all tables, or a ValueError if one is negative or not finite."""
    a, b = np.arange(split.n_positive + 1)[:, None], np.arange(split.n_negative + 1)[None, :]
    require_bytes(
        2 * 8 * a.size * b.size,
        f"A loss that is a function of {a.size:,} x {b.size:,} contingency tables",
        "Use fewer rows, or a loss by name, which is not tabulated.",
    )
    c, d = split.n_positive - a, split.n_negative - b
    values = np.asarray(function(a, b, c, d), dtype=np.float64)
    try:
        table = np.broadcast_to(values, (a.size, b.size))
    except ValueError:
        raise ValueError(
            f"The loss returned shape {values.shape} for arrays of shape {(a.size, b.size)}: it must work "
            "elementwise on arrays. numpy.vectorize makes a function of four numbers do so."
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
