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

from bayes_svm.multivariate.ranked import Ranked, turning
from bayes_svm.multivariate.ties import TIE, first_largest, on_grid
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["AtKLoss", "AtLeastKLoss", "ContingencyLoss", "FBetaLoss", "Split"]

UserLoss = Callable[[Any, Any, Any, Any], Any]

# Entries of a table of losses that are looked at in one go.
BLOCK = 2**20
# Where all rows are right, a loss of up to this share of its largest value is rounding.
RIGHT = 1e-6
# Numbers of rows from this one on are not exact.
MOST_ROWS = 2.0**53


@dataclass(frozen=True)
class Split:
    """Rows of both classes, which count as often as their weights say.

    Parameters
    ----------
    positives : array of shape (n_positives,)
        Row numbers of the positives of positive weight.
    negatives : array of shape (n_negatives,)
        Row numbers of the negatives of positive weight.
    counts : array of shape (n_samples,) or None
        How often every row counts; None if each counts once.
    """

    positives: Indices
    negatives: Indices
    counts: Array | None

    @classmethod
    def of(cls, positive: Mask, weight: Array) -> Split:
        """The split of some rows, or a ValueError if a weight is a fraction."""
        if np.any(weight != np.rint(weight)):
            raise ValueError(
                "This loss counts rows in a contingency table, so sample_weight must hold whole numbers. For "
                "fractions use loss='error' or loss='roc_area'."
            )
        if not weight.sum() < MOST_ROWS:
            raise ValueError(
                f"sample_weight stands for {weight.sum():.3g} rows, more than can be counted: divide it by a "
                "constant."
            )
        counts, used = None if np.all(weight == 1) else weight, weight > 0
        return cls(np.flatnonzero(positive & used), np.flatnonzero(~positive & used), counts)

    @property
    def n_positive(self) -> int:
        """Number of positives."""
        return self._number(self.positives)

    @property
    def n_negative(self) -> int:
        """Number of negatives."""
        return self._number(self.negatives)

    @property
    def direction(self) -> Array:
        """Coefficients ``y - y'`` of the labelling in which all rows are wrong."""
        c = np.zeros(len(self.positives) + len(self.negatives) if self.counts is None else len(self.counts))
        c[self.positives] = 2.0 * self.weights(self.positives)
        c[self.negatives] = -2.0 * self.weights(self.negatives)
        return c

    def weights(self, rows: Indices) -> Array:
        """How often some rows count."""
        return np.ones(len(rows)) if self.counts is None else self.counts[rows]

    def _number(self, rows: Indices) -> int:
        return len(rows) if self.counts is None else int(self.counts[rows].sum())

    def ranked(self, scores: Array) -> tuple[Ranked, Ranked]:
        """The positives, the lowest score first, and the negatives, the highest score first."""
        return self._ranked(scores, self.positives), self._ranked(-scores, self.negatives)

    def _ranked(self, values: Array, rows: Indices) -> Ranked:
        return Ranked.of(values[rows], None if self.counts is None else self.counts[rows])

    def coefficients(
        self, scores: Array, ranked: tuple[Ranked, Ranked], a: float, b: float, share: float
    ) -> Array:
        """``y - y'`` of the labelling in which the a highest positives and b highest negatives are 1.

        Parameters
        ----------
        scores : array of shape (n_samples,)
            Scores of the rows.
        ranked : pair of Ranked
            Positives and negatives of these scores.
        a, b : float
            True positives and false positives.
        share : float
            Factor of the coefficients of the negatives.

        Returns
        -------
        array of shape (n_samples,)
            The coefficients.
        """
        positives, negatives = ranked
        c = np.zeros(len(scores))
        c[self.positives] = 2.0 * positives.among_lowest(scores[self.positives], self.n_positive - a)
        c[self.negatives] = -2.0 * share * negatives.among_lowest(-scores[self.negatives], b)
        return c if self.counts is None else c * self.counts


@dataclass(frozen=True)
class _Stratified(ABC):
    """A loss that is a function of the contingency table, for the rows of ``split``."""

    ranking: ClassVar[bool] = False
    split: Split

    def most_violated(self, scores: Array) -> tuple[float, Array]:
        """A plane ``loss - c's`` that touches R at the given scores."""
        scores = on_grid(scores)
        ranked = self.split.ranked(scores)
        loss, a, b = self._best_table(*ranked)
        return loss, self.split.coefficients(scores, ranked, a, b, self._share(a, b))

    @abstractmethod
    def _best_table(self, positives: Ranked, negatives: Ranked) -> tuple[float, float, float]:
        """The table (a, b) whose loss, less the scores ``c's`` of its labelling, is largest.

        With S(m) the sum of the m lowest values, that is the loss less ``2 S(P - a)`` of the
        positives and ``2 S(b)`` of the negatives, whose values are their scores times -1. S is linear
        within a run of equal values.

        Parameters
        ----------
        positives, negatives : Ranked
            The rows of both classes, in the order in which they are labelled wrong.

        Returns
        -------
        loss : float
            Loss of the table.
        a, b : float
            True positives and false positives, which are whole numbers.
        """

    def _share(self, a: float, b: float) -> float:
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

    def _best_table(self, positives: Ranked, negatives: Ranked) -> tuple[float, float, float]:
        more = self.k - positives.ends[-1]
        b = positives.ends + more
        if not positives.single:
            b = np.union1d(b, negatives.ends)
        b = b[(b >= more) & (b <= min(self.k, negatives.ends[-1]))]
        if not positives.single:
            b = np.union1d(b, self._between(b[:-1], b[1:], positives, negatives))
        b = b[::-1]
        a, wrong = self.k - b, b - more
        loss = 100.0 * (1.0 - a / self.denominator)
        share = wrong / np.maximum(b, 1.0)
        best = first_largest(loss - 2.0 * positives.total(wrong) - 2.0 * share * negatives.total(b))
        return float(loss[best]), float(a[best]), float(b[best])

    def _between(self, low: Array, high: Array, positives: Ranked, negatives: Ranked) -> Array:
        """The best b between neighbouring ends of runs, where the sum is ``slope * b - strength / b``."""
        wide = high - low > 1
        low, high = low[wide], high[wide]
        more = self.k - positives.ends[-1]
        run = negatives.run(low)
        value = negatives.values[run]
        slope = 100.0 / self.denominator - 2.0 * positives.values[positives.run(low - more)] - 2.0 * value
        strength = 2.0 * more * (value * negatives.ends[run] - negatives.sums[run])
        return turning(strength, 0.0, slope, low, high)

    def _share(self, a: float, b: float) -> float:
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

    def _best_table(self, positives: Ranked, negatives: Ranked) -> tuple[float, float, float]:
        total, gaining = positives.ends[-1], negatives.ends[np.searchsorted(negatives.values, 0.0)]
        # All terms are linear in a between these numbers.
        a = np.concatenate([total - positives.ends, self.k - negatives.ends, [0.0, self.k, self.k - gaining]])
        a = np.unique(a[(a >= max(0.0, self.k - negatives.ends[-1])) & (a <= total)])
        b = np.maximum(gaining, self.k - a)
        loss = 100.0 * (1.0 - np.minimum(a, self.k) / self.denominator)
        best = first_largest(loss - 2.0 * positives.total(total - a) - 2.0 * negatives.total(b))
        return float(loss[best]), float(a[best]), float(b[best])


@dataclass(frozen=True)
class FBetaLoss(_Stratified):
    r""":math:`\Delta = 100 (1 - (1 + \beta^2) a / (a + b + \beta^2 P))`, with P positives.

    For fixed b, the loss is convex in a, so that the best a never splits a run of equal scores. For
    fixed a, both the loss and the sum of the b highest negative scores are concave in b. The best b
    is where the increment of their sum becomes negative. Bisection finds its run for all a at once.
    """

    beta: float

    def value(self, u: Array, v: Array) -> Array:
        """The loss of u false negatives and v false positives."""
        factor = 1.0 + self.beta**2
        kept = self.split.n_positive - u
        return np.asarray(100.0 - 100.0 * factor * kept / (factor * self.split.n_positive - u + v))

    def worth(self, positives: Ranked, negatives: Ranked) -> tuple[Array, Array]:
        """Numbers of false negatives, and for each the largest loss less the scores of negatives."""
        _, _, loss, gained = self._best_for_each(positives, negatives)
        return positives.ends, (loss + gained)[::-1]

    def _best_table(self, positives: Ranked, negatives: Ranked) -> tuple[float, float, float]:
        a, b, loss, gained = self._best_for_each(positives, negatives)
        best = first_largest(loss - 2.0 * positives.sums[::-1] + gained)
        return float(loss[best]), float(a[best]), float(b[best])

    def _best_for_each(self, positives: Ranked, negatives: Ranked) -> tuple[Array, Array, Array, Array]:
        """Every a that can be best, the best b for each, their loss, and twice the b highest scores."""
        total, n_runs = positives.ends[-1], len(negatives.values)
        a = total - positives.ends[::-1]
        numerator = 100.0 * (1.0 + self.beta**2) * a
        base = a + self.beta**2 * total
        low, high = np.zeros(len(a), dtype=np.intp), np.full(len(a), n_runs)
        for _ in range(n_runs.bit_length()):
            middle = np.minimum((low + high) // 2, n_runs - 1)
            before = base + negatives.ends[middle + 1] - 1.0
            rises = numerator / (before * (before + 1.0)) * (1.0 - TIE) > 2.0 * negatives.values[middle]
            np.copyto(low, middle + 1, where=rises & (low < high))
            np.copyto(high, middle, where=~rises & (low < high))
        run = np.minimum(low, n_runs - 1)
        start, value = negatives.ends[low], negatives.values[run]
        b = turning(numerator, base, -2.0 * value, start, np.maximum(start, negatives.ends[run + 1] - 1.0))
        return a, b, 100.0 - numerator / (base + b), -2.0 * (negatives.sums[low] + (b - start) * value)


@dataclass(frozen=True)
class ContingencyLoss(_Stratified):
    """Any function of the contingency table; ``table[a, b]`` is its value."""

    table: Array

    @classmethod
    def of(cls, split: Split, function: UserLoss) -> ContingencyLoss:
        """The loss of a function that the user gave."""
        return cls(split, _checked_table(function, split))

    def _best_table(self, positives: Ranked, negatives: Ranked) -> tuple[float, float, float]:
        lost = -2.0 * positives.total(np.arange(len(self.table), dtype=np.float64)[::-1])
        gained = -2.0 * negatives.total(np.arange(self.table.shape[1], dtype=np.float64))
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
    """Values of the user's function for all tables, or a ValueError if they are not those of a loss."""
    rows, columns = split.n_positive + 1, split.n_negative + 1
    require_bytes(
        2 * 8 * rows * columns,
        f"A loss that is a function of {rows:,} x {columns:,} contingency tables",
        "Use fewer rows or smaller weights, or a loss by name, which is not tabulated.",
    )
    a, b = np.arange(rows)[:, None], np.arange(columns)[None, :]
    c, d = split.n_positive - a, split.n_negative - b
    values = np.asarray(function(a, b, c, d), dtype=np.float64)
    try:
        table = np.broadcast_to(values, (rows, columns))
    except ValueError:
        raise ValueError(
            f"The loss returned shape {values.shape} for arrays of shape {(rows, columns)}: it must work "
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
    if table[-1, 0] > RIGHT * table.max():
        raise ValueError(
            f"The loss is {table[-1, 0]:g} where all rows are right: it must be 0 there. Of a score, such as "
            "F1, give what is missing to its largest value."
        )
    return table
