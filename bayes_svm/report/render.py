"""A report as an HTML page, and as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from importlib import resources
from typing import Any

from . import charts, formats
from .keys import KEYS, as_data
from .measures import ThresholdPoints
from .optional import needs
from .record import Report
from .words import informative, told, words_of

__all__ = ["check_html", "to_html", "to_json"]

# Largest number of classes with a table of thresholds, and with a strip in the picture of probabilities.
MAX_PANELS = 12
# Thresholds in the tables of precision and recall, in percent.
THRESHOLDS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99)
# Where the slider stands, in percent, and what a false alarm and a missed row cost, unless the user said so.
START, COSTS = 50, (1.0, 1.0)

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

    Every string of the data is escaped. The page's policy allows its own script and style, by their hashes.

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
    jinja2, markup = needs("jinja2"), needs("markupsafe").Markup
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_file),
    )
    for name in (one for one in formats.__all__ if one.islower()):
        environment.filters[name] = getattr(formats, name)
    environment.filters["told"] = told
    style, script = _file("page.css"), _file("page.js")
    page = environment.get_template("page.html.j2").render(
        r=report,
        version=version,
        classes=report.model.classes,
        two=len(report.model.classes) == 2,
        balanced=sum(one.balanced for one in report.model.members) if report.model.mixture else 0,
        words=words_of(report),
        clear=report.importance.clear,
        informative=informative(report),
        left_out=[one for one in report.source.columns if one.kind == "left out"],
        undefined=any(math.isnan(one.precision.value) for one in (report.performance, *report.per_class)),
        estimators=ESTIMATORS,
        statuses=STATUSES,
        style=markup(style),
        script=markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        # Nothing in it can end the element that holds it.
        data=markup(_in_script(_script_data(report))),
        **_pictures(report),
        **_thresholds(report),
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


def _file(name: str) -> str:
    """Return one of the files that the page is made of."""
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which a policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _in_script(data: Any) -> str:
    """Return JSON that can stand inside of a script element, whatever its strings hold."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _script_data(report: Report) -> dict[str, Any]:
    """Return what the page's script reads."""
    curve = report.risk_coverage
    return {
        "thresholds": [
            {
                "label": one.label,
                "n": one.n,
                "others": one.n_others,
                "found": one.found,
                "alarms": one.false_alarms,
            }
            for one in report.thresholds
        ],
        "risk": {
            "n": report.source.n_rows,
            "confidence": [round(value, 5) for value in curve.confidence],
            # Not rounded: the numbers of rows follow from these.
            "coverage": curve.coverage,
            "risk": curve.risk,
        },
    }


def _pictures(report: Report) -> dict[str, Any]:
    """Return the charts, but for that of the thresholds."""
    shown = report.spreads
    if len(shown) > MAX_PANELS:
        worst = sorted(shown, key=lambda one: -one.wrong / one.n)[:MAX_PANELS]
        shown = tuple(one for one in shown if one in worst)
    return {
        "spread": charts.spread_chart(shown, report.positive),
        "hidden_classes": len(report.spreads) - len(shown),
        "reliability": charts.reliability_chart(report.reliability),
        "risk": charts.risk_chart(report.risk_coverage),
        "columns": charts.importance_chart(report.importance) if report.importance.columns else None,
    }


def _thresholds(report: Report) -> dict[str, Any]:
    """Return the curve that is drawn, the tables of thresholds, and where the slider stands."""
    f1 = {row.name: row.f1.value for row in report.per_class}
    curves = sorted(report.thresholds, key=lambda one: f1.get(one.label, 0.0))[:MAX_PANELS]
    decision = report.decision
    start = START
    if decision is not None and decision.reason is None:
        start = _whole_per_cent(report, curves[0])
    return {
        "curve": curves[0],
        "threshold_chart": charts.threshold_chart(curves[0]),
        "tables": [(one, [_at(one, threshold) for threshold in THRESHOLDS]) for one in curves],
        "start": start,
        "costs": report.costs or COSTS,
    }


def _whole_per_cent(report: Report, curve: ThresholdPoints) -> int:
    """The threshold asked for in whole per cent, on the side that keeps what was asked."""
    assert report.decision is not None  # a threshold was asked for
    per_cent = 100 * report.decision.threshold
    below, above = math.floor(per_cent + 1e-9), math.ceil(per_cent - 1e-9)

    def precision(at: int) -> float:
        return curve.found[at] / max(1, curve.found[at] + curve.false_alarms[at])

    if report.costs is None:
        # Precision mostly grows with the threshold, but not always.
        return max((above, below), key=precision) if report.decision.raises else below
    of_false_alarm, of_missed = report.costs
    return min(
        (below, above),
        key=lambda at: of_false_alarm * curve.false_alarms[at] + of_missed * (curve.n - curve.found[at]),
    )


def _at(curve: ThresholdPoints, threshold: int) -> dict[str, Any]:
    """Return one line of the table of thresholds."""
    found, alarms = curve.found[threshold], curve.false_alarms[threshold]
    missed = curve.n - found
    return {
        "threshold": threshold,
        "precision": curve.precision[threshold],
        "recall": curve.recall[threshold],
        "f1": 2 * found / (2 * found + alarms + missed),
        "found": found,
        "missed": missed,
        "false_alarms": alarms,
    }
