import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from _data import THREE
from bayes_svm.report.aims import Decision
from bayes_svm.report.record import MachineRecord
from bayes_svm.report.render import MAX_PANELS, THRESHOLDS, to_html, to_json
from bayes_svm.report.tables.table import Column


class Page(HTMLParser):
    """Collects the tags, the attributes that could load something, the headings and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.text, self.inside = [], [], "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag
        self.links += [
            (name, value)
            for name, value in attrs
            if name in ("src", "srcset", "style")
            or name.startswith("on")
            or (name == "href" and not value.startswith("#"))
        ]

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.text += data


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_strings_of_the_data_are_escaped(report, labels):
    more = {"columns": (Column("<u>id</u>", "left out", "is an <s>id</s>"),)}
    page = Page(to_html(report(labels, name="<b>file</b>.csv", more=more)))
    assert not {"img", "b&b", "link", "iframe", "object", "i", "u", "s"} & set(page.tags)
    assert page.tags.count("script") == 2
    names = (THREE[0], '"><img onerror=alert(2)>', "di'ag\"nosis<", "<b>file</b>.csv", "note <1>", "<i>")
    for text in (*names, "<u>id</u>: is an <s>id</s>"):
        assert text in page.text


def test_the_data_of_the_script_cannot_end_it(report):
    label = "</script><script>alert(1)</script><!--"
    html = to_html(report((label, "a\u2028&b")))
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1]
    assert not re.search("[<>&]", data)
    assert json.loads(data)["thresholds"][0]["label"] == "a\u2028&b"
    assert json.loads(data)["risk"]["n"] == 40


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_the_page_is_self_contained(report, labels):
    html = to_html(report(labels))
    assert Page(html).links == []
    assert not re.search(r"https?:|url\(|@import", html)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_the_policy_names_the_script_and_the_style_by_their_hashes(report):
    html = to_html(report())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    directives = dict(one.strip().split(" ", 1) for one in policy.replace("&#39;", "'").split(";"))
    assert directives["default-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        content = re.search(f"<{tag}>(.*?)</{tag}>", html, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert directives[name] == f"'sha256-{digest}'"


def test_the_page_has_every_section(report):
    text = Page(to_html(report())).text
    for title in (
        "How often it is wrong",
        "Can its probabilities be trusted?",
        "What “I do not know” buys",
        "Where it is right, and where it is wrong",
        "Do the probabilities mean what they say?",
        "Where to put the threshold",
        "What saying “I do not know” would gain",
        "Rows to look at",
        "Which columns matter",
        "Model card",
        "For statisticians",
    ):
        assert title in text
    for name in ("left out", "training", "xi-alpha", "span", "exact leave-one-out"):
        assert name in text
    assert "These estimates judge the sign of the decision value" in text
    assert not re.search(r"\bnan\b|None", text)


def test_the_first_screen_comes_before_everything_else(report):
    made = report()
    html = to_html(made)
    text = Page(html).text
    error = f"{100 * made.performance.error.value:.1f}\u00a0%"
    first = text.index("What was asked")
    assert first < text.index(error) < text.index("Where it is right, and where it is wrong")
    for one in made.answered:
        assert f"{one.wrong:,} of {one.n:,}" in text


def test_a_mixture_says_that_intervals_and_promises_are_approximate(report):
    sentence = "approximate: the preprocessing and the choice saw these rows"
    mixed = Page(to_html(report(quick=False))).text
    assert mixed.count(sentence) >= 2
    assert "A mixture of" in mixed
    assert sentence not in Page(to_html(report())).text


def test_solutions_that_are_not_exact_are_told(report):
    made = report(THREE)
    (one,) = made.model.members
    broken = MachineRecord("c", 1, 1, 1.0, 1.0, False, "<b>reason</b>")
    made = replace(made, model=replace(made.model, members=(replace(one, machines=(broken,)),)))
    assert "is not exact: <b>reason</b>" in Page(to_html(made)).text
    assert "is not exact" not in Page(to_html(report())).text


def test_what_was_done_with_columns_is_in_the_model_card(report):
    columns = (
        Column("id", "left out", "a different value in every row"),
        Column("size", "number", "a decimal comma was read as a point"),
    )
    text = Page(to_html(report(more={"columns": columns, "fingerprint": "0123abc"}))).text
    assert "id: a different value in every row" in text
    assert "SHA-256 0123abc" in text
    assert "a decimal comma was read as a point" in text


def test_rows_have_their_identifiers(report):
    import numpy as np

    names = np.array([f"patient {k}" for k in range(40)])
    made = report(more={"identifiers": names})
    assert f"(patient {made.surprising[0].row - 1})" in Page(to_html(made)).text
    numbers = report(more={"identifiers": np.arange(1, 41)})
    assert numbers.surprising[0].name is None


def test_many_classes_are_drawn_by_the_worst(report):
    labels = tuple(f"class {k:02d}" for k in range(15))
    result = report(labels, n=90)
    html = to_html(result)
    assert html.count("Left-out rows called") == MAX_PANELS
    text = Page(html).text
    assert "Tables are shown for the 12 of 15 classes with the lowest F1" in text
    assert "Shown are the 12 of 15 classes with the most errors" in text
    assert len(json.loads(to_json(result))["thresholds"]) == 15


@pytest.mark.parametrize(
    ("aim", "costs", "threshold", "start"),
    [
        ("precision of at least 90 %", None, 0.614, 62),
        ("recall of at least 90 %", None, 0.618, 61),
        ("recall of at least 90 %", None, 0.29, 29),
        ("least cost, ...", (1.0, 40.0), 0.5, 50),
    ],
)
def test_the_slider_stands_on_the_side_that_keeps_what_was_asked(report, aim, costs, threshold, start):
    made = replace(report(("a", "b")), decision=Decision(aim, None, threshold), costs=costs)
    assert f'value="{start}"' in to_html(made)


def test_of_two_whole_per_cents_the_slider_takes_the_cheaper(report):
    made = report(("a", "b"))
    curve = made.thresholds[0]
    cost = [a + 40 * (curve.n - f) for a, f in zip(curve.false_alarms, curve.found, strict=True)]
    at = next(k for k in range(100) if cost[k] < cost[k + 1])
    made = replace(made, decision=Decision("least cost", None, (at + 0.9) / 100), costs=(1.0, 40.0))
    assert f'value="{at}"' in to_html(made)


def test_without_scripts_there_is_a_table_of_a_dozen_thresholds(report):
    made = report()
    html = to_html(made)
    table = html[html.index("Left-out rows called") :]
    table = table[: table.index("</table>")]
    assert table.count('<th scope="row">') == len(THRESHOLDS) == 12
    curve = made.thresholds[0]
    for threshold in THRESHOLDS:
        found, alarms = curve.found[threshold], curve.false_alarms[threshold]
        assert f"<td>{found}</td><td>{curve.n - found}</td><td>{alarms}</td>" in table


def test_the_time_shown_is_that_of_the_fit(report):
    made = report()
    made = replace(made, model=replace(made.model, seconds=12.5))
    assert "12.50 s for the fit, leaving out included" in Page(to_html(made)).text


def test_json_in_python_and_on_the_page_is_the_same(report):
    made = report(THREE)
    html = to_html(made)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
    written = json.loads(to_json(made))
    assert [one["found"] for one in data["thresholds"]] == [one["found"] for one in written["thresholds"]]
    assert data["risk"]["coverage"] == written["risk_coverage"]["coverage"]
