"""A report as a table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .formats import counted, interval, number, percent
from .record import Performance, Report, ValueWithInterval
from .text import shortened
from .words import informative, words_of

__all__ = ["to_text"]


def to_text(report: Report) -> str:
    """Return the main numbers of the report as a table in plain text.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        The lines of the table.
    """
    source, model = report.source, report.model
    counts = ", ".join(f"{_plain(one.label)} {one.n}" for one in model.classes[:6])
    counts += ", ..." if len(model.classes) > 6 else ""
    about = (
        "recall, precision and F1 are averages over the classes, and so are the errors of the papers"
        if report.per_class
        else f"positive class: {_plain(report.positive)}"
    )
    head = [
        f"{_plain(source.name, 80)}: {source.n_rows} rows, {counted(source.n_columns, 'column')}; {counts}",
        f"{_model(report)}, fitted in {model.seconds:.2f} s",
        f"95 % intervals in parentheses; {about}",
        "",
    ]
    rows = [["", "error", "recall", "precision", "F1"], _text_row(report.performance)]
    if report.per_class:
        rows += [["by class", "", "", "", ""], *map(_text_row, report.per_class)]
    hopeful = "" if report.source.n_groups is None else " (single rows, too hopeful with groups)"
    rows += [[f"papers' estimates, of the sign{hopeful}", "", "", "", ""], *map(_text_row, report.papers)]
    scores = report.scores
    tail = [
        "",
        f"log loss {number(scores.log_loss)} (base rates {number(scores.base_log_loss)}), "
        f"Brier score {number(scores.brier)} (base rates {number(scores.base_brier)}), "
        f"area under risk-coverage {number(report.risk_coverage.area)}",
        *_text_heaviest(report),
        *_text_aims(report),
        _plain(f"{words_of(report).against_base} {words_of(report).costs}".rstrip(), 300),
        _plain(f"probabilities to be trusted? {words_of(report).verdict}", 300),
        *_text_columns(report),
        f"most surprising rows: {', '.join(str(one.row) for one in report.surprising)}",
        *(f"note: {_plain(note, 300)}" for note in source.notes),
    ]
    return "\n".join([*head, *_columns(rows), *tail]) + "\n"


def _text_heaviest(report: Report) -> list[str]:
    """What sets the papers' estimates apart from the error, if they are those of a machine with costs."""
    if not max(report.model.members, key=lambda one: one.weight).balanced:
        return []
    return [
        "the papers' estimates are of the heaviest machine, in which mistakes in the rare class cost more"
    ]


def _model(report: Report) -> str:
    """The fitted setting, or the number of those that are mixed."""
    members = report.model.members
    if report.model.mixture:
        return (
            f"mixture of {counted(len(members), 'setting')} of BayesSVC (intervals and promises are "
            "approximate: the preprocessing and the choice saw these rows)"
        )
    one = members[0]
    gamma = "" if one.gamma_value is None else f", gamma={number(one.gamma_value)}"
    return f"BayesSVC(C={number(one.C)}, kernel={one.kernel}{gamma}): {one.n_support} support vectors"


def _text_columns(report: Report) -> list[str]:
    """The most important columns, if it was found out which they are."""
    clear = report.importance.clear
    if not report.importance.columns:
        return []
    if not informative(report):
        return [
            "columns that matter: not told, as the model does not clearly know more than the class shares"
        ]
    if not clear:
        return [
            "columns that matter: none is clear of chance "
            f"({counted(report.importance.n_rows, report.source.unit)} tried)"
        ]
    more = ", ..." if len(clear) > 5 else ""
    return [f"columns that matter most: {', '.join(map(_plain, clear[:5]))}{more}"]


def _text_aims(report: Report) -> list[str]:
    """One line for the threshold and one for the rejection, if the user asked for them."""
    lines = []
    if (one := report.decision) is not None:
        found = one.reason or (
            f"call it {_plain(report.positive)} from a probability of {percent(one.threshold)}; "
            f"precision {percent(one.precision)}, recall {percent(one.recall)}, {one.false_alarms} false and "
            f"{one.missed} missed alarms"
            + ("" if math.isnan(one.cost) else f", cost {number(one.cost)}")
            + (" (shares and cost by weight)" if report.source.weighted else "")
        )
        lines.append(f"{one.aim}: {found}")
    if (other := report.rejection) is not None:
        found = other.reason or (
            f"answer from a confidence of {percent(other.threshold)}: {percent(other.answered)} of the "
            f"rows, of which {percent(other.risk)} are wrong"
        )
        lines.append(f"at most {100 * other.max_risk:g} % wrong: {found}")
    return [_plain(line, 300) for line in lines]


def _text_row(row: Performance) -> list[str]:
    return [_plain(row.name), *(_text_cell(one) for one in (row.error, row.recall, row.precision, row.f1))]


def _text_cell(one: ValueWithInterval) -> str:
    value = percent(one.value).replace("\u00a0", " ")
    between = interval(one).replace("\u00a0%", "")
    return f"{value} ({between})" if between else value


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Yield the rows as lines with aligned columns."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _plain(text: object, limit: int = 40) -> str:
    """Return a text, shortened and without control characters, which a terminal would obey."""
    text = str(text).replace("\u00a0", " ")
    return shortened("".join(char if char.isprintable() else "\ufffd" for char in text), limit)
