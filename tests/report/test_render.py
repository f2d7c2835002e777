import json
import re
from html.parser import HTMLParser

import pytest

from _data import THREE
from bayes_svm.report.record import KEYS
from bayes_svm.report.render import MAX_PANELS, interval, percent, to_html, to_json, to_text


class Page(HTMLParser):
    """Collects the tags, the attributes that could load something, and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [
            name for name, _ in attrs if name in ("src", "href", "srcset", "style") or name.startswith("on")
        ]

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_strings_of_the_data_are_escaped(report, labels):
    page = Page(to_html(report(labels, name="<b>file</b>.csv")))
    assert not {"script", "img", "b&b", "link", "iframe", "object", "i"} & set(page.tags)
    for text in (THREE[0], '"><img onerror=alert(2)>', "di'ag\"nosis<", "<b>file</b>.csv", "note <1>", "<i>"):
        assert text in page.text


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_the_page_is_self_contained(report, labels):
    html = to_html(report(labels))
    assert Page(html).links == []
    assert not re.search(r"https?:|url\(|@import", html)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_the_page_has_every_section(report):
    text = Page(to_html(report())).text
    for title in (
        "The model",
        "How often it is wrong",
        "Do the probabilities mean what they say?",
        "How good the probabilities are",
        "Where to put the threshold",
        "What saying “I do not know” would gain",
        "The 10 most surprising rows",
    ):
        assert title in text
    for name in ("left out", "training", "xi-alpha", "span", "exact leave-one-out"):
        assert name in text
    assert "These estimates judge the sign of the decision value" in text
    assert "nan" not in text


def test_solutions_that_are_not_exact_are_told(report):
    assert "is not exact: <b>reason</b>" in Page(to_html(report(THREE))).text
    assert "is not exact" not in Page(to_html(report())).text


def test_many_classes_are_drawn_by_the_worst(report):
    labels = tuple(f"class {k:02d}" for k in range(15))
    result = report(labels, n=90)
    html = to_html(result)
    assert html.count("Precision and recall for") // 2 == MAX_PANELS
    assert "the 12 of 15 classes with the lowest F1" in Page(html).text
    assert len(json.loads(to_json(result))["thresholds"]) == 15


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_json_is_strict_and_explains_its_keys(report, labels):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    data = json.loads(to_json(report(labels)), parse_constant=refuse)
    assert set(data) - {"keys"} == {key.split(".")[0] for key in KEYS}
    assert data["keys"] == KEYS
    for key in KEYS:
        value = data
        for part in key.split("."):
            value = value[part]
    # The gap of the stand-in is NaN.
    assert data["model"]["machines"][0]["relative_gap"] is None
    assert data["positive"] == (labels[1] if len(labels) == 2 else None)
    assert len(data["surprising"]) == 10


def test_text_table(report):
    text = to_text(report(("a\x1b[31m", "well")))
    assert "\x1b" not in text
    for name in ("left out", "exact leave-one-out"):
        assert re.search(rf"^{name} +\d+\.\d % \(\d+\.\d to \d+\.\d\)", text, re.MULTILINE)
    assert "positive class: well" in text
    assert "most surprising rows: " in text


def test_undefined_precision_is_a_dash(stand_in):
    from bayes_svm.metrics.confusion import Confusion
    from bayes_svm.report.content import _row

    row = _row("never predicted", (Confusion(tp=0, fp=0, fn=5, tn=15),))
    assert (row.error.value, row.recall.value, row.f1.value) == (0.25, 0.0, 0.0)
    assert percent(row.precision.value) == "–"
    assert interval(row.precision) == ""
    both = _row("average", (Confusion(0, 0, 5, 15), Confusion(5, 5, 0, 10)))
    assert both.precision.value == 0.25
