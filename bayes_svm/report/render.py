"""A report as an HTML page, as JSON, and as a table for the terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from . import charts
from .optional import needs
from .record import KEYS, Performance, Report, ValueWithInterval, as_data
from .text import shortened

__all__ = ["check_html", "to_html", "to_json", "to_text"]

# Largest number of threshold charts: nobody looks at more of them one by one.
MAX_PANELS = 12
# Thresholds in the table of precision and recall.
THRESHOLDS = (0.1, 0.25, 0.5, 0.75, 0.9)
# Shares of rows kept in the table of risks.
KEPT = (1.0, 0.95, 0.9, 0.8, 0.5)
# Largest number of characters of a cell in the table of surprising rows.
MAX_TEXT = 100
# Stands for a value that is not defined.
MISSING = "–"

# What the estimates of the literature are.
ESTIMATORS = {
    "training": "on the rows it learned from: too hopeful",
    "xi-alpha": "a quick, usually pessimistic estimate from the trained model (Joachims)",
    "span": "a sharper approximation of leaving one out (Vapnik and Chapelle)",
    "exact leave-one-out": "every row left out in turn, exactly",
}
# What the statuses of left-out values mean.
STATUSES = {
    "unchanged": "did not matter to the model, so leaving it out changes nothing",
    "path": "followed exactly to the model without that row",
    "re-trained": "found by training again without that row",
    "unstable": "exact but for an offset that is not unique without it: the middle of its range was taken",
    "one-class": "the rest has one class only",
    "inexact": "could not be solved to the last digit: read these values with care",
}


def check_html() -> None:
    """Raise InputError if the template engine is missing; the message says how to install it."""
    needs("jinja2")


def to_html(report: Report, version: str = "") -> str:
    """Return the report as one self-contained HTML page.

    Every string of the data is escaped.

    Parameters
    ----------
    report : Report
        The report.
    version : str
        Version of the package, for the footer.

    Returns
    -------
    str
        The page.

    Raises
    ------
    InputError
        If the template engine is missing.
    """
    environment = needs("jinja2").Environment(
        autoescape=True, undefined=needs("jinja2").StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(percent=percent, number=number, interval=interval, counted=counted)
    template = resources.files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    page = environment.from_string(template).render(
        r=report,
        version=version,
        estimators=ESTIMATORS,
        statuses=STATUSES,
        reliability=charts.reliability_chart(report.reliability),
        risk=charts.risk_chart(report.risk_coverage),
        panels=[(curve, charts.threshold_chart(curve)) for curve in _panels(report)],
        at_thresholds=_at_thresholds(report),
        kept=dict.fromkeys(report.risk_coverage.risk_at(share) for share in KEPT),
        worst_machine=max(report.model.machines, key=lambda machine: machine.kkt_residual),
    )
    return str(page)


def to_json(report: Report) -> str:
    """Return the report as strict JSON, in which NaN becomes null.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    str
        The JSON text. Its entry "keys" says what the other entries mean.
    """
    return json.dumps({"keys": KEYS, **as_data(report)}, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


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
    gamma = "" if model.gamma_value is None else f", gamma={number(model.gamma_value)}"
    about = (
        f"positive class: {_plain(report.positive)}"
        if report.positive
        else "recall, precision and F1 are averages over the classes, and so are the errors of the papers"
    )
    head = [
        f"{_plain(source.name, 80)}: {source.n_rows} rows, {counted(source.n_columns, 'column')}; {counts}",
        f"BayesSVC(C={number(model.C)}, kernel={model.kernel}{gamma}): {model.n_support} support vectors, "
        f"fitted in {model.seconds:.2f} s",
        f"95 % intervals in parentheses; {about}",
        "",
    ]
    rows = [["", "error", "recall", "precision", "F1"], _text_row(report.performance)]
    if report.per_class:
        rows += [["by class", "", "", "", ""], *map(_text_row, report.per_class)]
    rows += [["papers' estimates, of the sign", "", "", "", ""], *map(_text_row, report.papers)]
    scores = report.scores
    tail = [
        "",
        f"log loss {number(scores.log_loss)} (base rates {number(scores.base_log_loss)}), "
        f"Brier score {number(scores.brier)} (base rates {number(scores.base_brier)}), "
        f"area under risk-coverage {number(report.risk_coverage.area)}",
        *_text_aims(report),
        f"most surprising rows: {', '.join(str(one.row) for one in report.surprising)}",
        *(f"note: {_plain(note, 300)}" for note in source.notes),
    ]
    return "\n".join([*head, *_columns(rows), *tail]) + "\n"


def _text_aims(report: Report) -> list[str]:
    """One line for the threshold and one for the rejection, if the user asked for them."""
    lines = []
    if (one := report.decision) is not None:
        found = one.reason or (
            f"call it {_plain(report.positive)} from a probability of {percent(one.threshold)}; "
            f"precision {percent(one.precision)}, recall {percent(one.recall)}, {one.false_alarms} false and "
            f"{one.missed} missed alarms" + ("" if math.isnan(one.cost) else f", cost {number(one.cost)}")
        )
        lines.append(f"{one.aim}: {found}")
    if (other := report.rejection) is not None:
        found = other.reason or (
            f"answer from a confidence of {percent(other.threshold)}: {percent(other.answered)} of the "
            f"rows, of which {percent(other.risk)} are wrong"
        )
        lines.append(f"at most {100 * other.max_risk:g} % wrong: {found}")
    return [_plain(line.replace("\u00a0", " "), 300) for line in lines]


def percent(value: float | None) -> str:
    """Format 0.0213 as "2.1 %", with a no-break space."""
    return MISSING if value is None or not math.isfinite(value) else f"{100 * value:.1f}\u00a0%"


def number(value: Any) -> str:
    """Format a number with four digits, or shorten the user's text if it is long."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return shortened(value, MAX_TEXT)
    value = float(value)
    return MISSING if math.isnan(value) else f"{value:.4g}"


def interval(estimate: ValueWithInterval) -> str:
    """Format an interval as "1.2 to 3.6 %"; the empty string if there is none."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return ""
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}\u00a0%"


def counted(n: int, noun: str) -> str:
    """Format a number with its noun, as "1 row" or "5 rows"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _panels(report: Report) -> Sequence[Any]:
    """Return the curves to draw: all, or those of the `MAX_PANELS` classes with the lowest F1."""
    if len(report.thresholds) <= MAX_PANELS:
        return report.thresholds
    f1 = {row.name: row.f1.value for row in report.per_class}
    worst = sorted(report.thresholds, key=lambda curve: f1[curve.label])[:MAX_PANELS]
    return [curve for curve in report.thresholds if curve in worst]


def _at_thresholds(report: Report) -> list[tuple[float, float, float]]:
    """Return threshold, precision and recall of the positive class at a few round thresholds."""
    if report.positive is None:
        return []
    curve = report.thresholds[0]
    rows = []
    for threshold in THRESHOLDS:
        # The first threshold of the curve at or above this one labels the same rows.
        index = next((i for i, value in enumerate(curve.thresholds) if value >= threshold), None)
        if index is not None:
            rows.append((threshold, curve.precision[index], curve.recall[index]))
    return rows


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
    return shortened("".join(char if char.isprintable() else "\ufffd" for char in str(text)), limit)
