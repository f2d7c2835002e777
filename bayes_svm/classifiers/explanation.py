"""What the probability of one row rests on."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from numpy.typing import NDArray

from bayes_svm.utils.types import Array

__all__ = ["Explanation", "InfluentialRow"]


@dataclass(frozen=True)
class InfluentialRow:
    """A training row that a decision value rests on, and what leaving it out would change.

    Attributes
    ----------
    row : int
        Number of the row in the training data.
    label : object
        Its label.
    contribution : float
        ``y_i alpha_i k(x_i, x)``, its part of the decision value.
    decision_value : float or None
        Decision value, at the point that is explained, of the machine trained without the row; as exact as
        the solution. None for a precomputed kernel, because the fit does not keep the kernel matrix that
        this needs.
    probability : float or None
        Probability of the predicted class at that decision value, by the same link.
    """

    row: int
    label: Any
    contribution: float
    decision_value: float | None
    probability: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """What the probability of one row rests on: :meth:`bayes_svm.BayesSVC.explain` returns it.

    Attributes
    ----------
    classes : array of shape (n_classes,)
        Labels of the classes.
    probabilities : array of shape (n_classes,)
        Their probabilities.
    predicted : object
        Label that ``predict`` returns.
    probability : float
        Probability of the predicted class.
    interval : tuple of float
        Lower and upper end of the probability of the predicted class, from ``predict_interval``.
    moderation : float or None
        How far the row is from the training data: 0 where the link is the sigmoid, among the data; 1 where
        the probability is the limit, so far out that the data say nothing. None if the link does not tell.
    distance : str
        The same in words.
    decision_value : float
        Decision value of the machine: ``intercept`` and the contributions of all training rows. For
        two classes positive values speak for ``classes[1]``. For more it is the machine of the predicted
        class against the rest, and positive values speak for it.
    intercept : float
        The machine's constant.
    supporting : tuple of InfluentialRow
        Training rows that contribute most to the predicted class, the largest contribution first.
    opposing : tuple of InfluentialRow
        Training rows that contribute most against it.
    note : str
        Further remarks, such as which model of a mixture is explained; may be empty.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesSVC().fit(scale(X), y)
    >>> found = model.explain(scale(X)[81], n_rows=1)
    >>> found.predicted, round(found.probability, 3), found.supporting[0].row, found.opposing[0].row
    (1, 0.55, 81, 215)
    """

    classes: NDArray[Any]
    probabilities: Array
    predicted: Any
    probability: float
    interval: tuple[float, float]
    moderation: float | None
    distance: str
    decision_value: float
    intercept: float
    supporting: tuple[InfluentialRow, ...]
    opposing: tuple[InfluentialRow, ...]
    note: str = ""

    def __repr__(self) -> str:
        low, high = self.interval
        facts = [f"{name}: {text}" for name, text in self._facts()]
        lines = [
            f"Explanation: {self.predicted!s} with probability {self.probability:.3f} "
            f"(interval {low:.3f} to {high:.3f})",
            *(f"  {line}" for line in facts),
        ]
        for title, rows in self._parts():
            lines += [f"  {title}:", *(f"    {line}" for line in _text_table(rows))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        low, high = self.interval
        facts = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self._facts()
        )
        parts = "".join(_html_table(title, rows) for title, rows in self._parts())
        return (
            f"<p><strong>{escape(str(self.predicted))}</strong> with probability {self.probability:.3f} "
            f"(interval {low:.3f} to {high:.3f})</p><table>{facts}</table>{parts}"
        )

    def _facts(self) -> list[tuple[str, str]]:
        """What is said of the row, each with its name."""
        each = zip(self.classes.tolist(), self.probabilities, strict=True)
        facts = [
            ("probabilities", ", ".join(f"{label!s}: {value:.3f}" for label, value in each)),
            ("known data", self.distance),
            ("decision value", f"{self.decision_value:.4g}, of which {self.intercept:.4g} is the intercept"),
        ]
        return [*facts, ("note", self.note)] if self.note else facts

    def _parts(self) -> list[tuple[str, tuple[InfluentialRow, ...]]]:
        return [
            (f"training rows that speak most for {self.predicted!s}", self.supporting),
            ("training rows that speak most against it", self.opposing),
        ]


# The last two columns are those of the machine without the row.
_HEADINGS = ("row", "label", "contribution", "value without it", "probability without it")


def _cells(row: InfluentialRow) -> tuple[str, ...]:
    """The cells of a training row, in the order of the headings."""
    value = "unknown" if row.decision_value is None else f"{row.decision_value:.4g}"
    probability = "unknown" if row.probability is None else f"{row.probability:.3f}"
    return str(row.row), str(row.label), f"{row.contribution:.4g}", value, probability


def _text_table(rows: tuple[InfluentialRow, ...]) -> list[str]:
    """The lines of a table of training rows."""
    if not rows:
        return ["none"]
    table = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in table]


def _html_table(title: str, rows: tuple[InfluentialRow, ...]) -> str:
    head = "".join(f"<th scope='col'>{name}</th>" for name in _HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in rows
    )
    nothing = f"<tr><td colspan='{len(_HEADINGS)}'>none</td></tr>"
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body or nothing}</table>"


def in_words(moderation: float | None) -> str:
    """How far from the training data a row is."""
    if moderation is None:
        return "the link does not tell how far the row is from the training data"
    if moderation == 0.0:
        return "the row is near the training data"
    share = f"{100 * moderation:.0f} % of the way to what is said where nothing is known"
    if moderation < 0.5:
        return f"the row is at the edge of the training data: {share}"
    if moderation < 0.95:
        return f"the row is far from the training data: {share}"
    return "the row is so far from the training data that only the outermost of them count"
