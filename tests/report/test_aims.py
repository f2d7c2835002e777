import json
import math
import re

import numpy as np
import pytest

from bayes_svm.report.aims import Aims, check_aims, decision_for, rejection_for
from bayes_svm.report.cli import main
from bayes_svm.report.errors import InputError

random = np.random.default_rng(0)
LABELS = random.random(200) < 0.4
P = np.clip(0.3 + 0.4 * LABELS + 0.15 * random.normal(size=200), 0.01, 0.99)
PROBABILITY = np.column_stack([1 - P, P])


def counts(threshold):
    called = threshold <= P
    return int(np.sum(called & LABELS)), int(np.sum(called & ~LABELS)), int(np.sum(~called & LABELS))


@pytest.mark.parametrize(
    ("aims", "reached"),
    [
        (Aims(precision=0.95), lambda tp, fp, fn: tp / (tp + fp) >= 0.95),
        (Aims(recall=0.9), lambda tp, fp, fn: tp / (tp + fn) >= 0.9),
    ],
)
def test_the_threshold_reaches_what_was_asked_for(aims, reached):
    found = decision_for(aims, "True", LABELS, P)
    tp, fp, fn = counts(found.threshold)
    assert (found.found, found.false_alarms, found.missed) == (tp, fp, fn)
    assert found.reason is None
    assert reached(tp, fp, fn)
    assert found.precision == pytest.approx(tp / (tp + fp))
    assert found.recall == pytest.approx(tp / (tp + fn))


def test_the_threshold_of_least_cost():
    found = decision_for(Aims(cost=(1.0, 5.0)), "True", LABELS, P)
    costs = [fp + 5 * fn for _, fp, fn in map(counts, np.linspace(0, 1.01, 2000))]
    assert found.cost == pytest.approx(min(costs))


def test_where_no_row_is_worth_calling_positive_there_is_a_reason_and_no_threshold():
    proba = np.array([1.0, 1.0, 1.0, 0.2, 0.1, 1.0])
    labels = np.arange(6) == 5
    found = decision_for(Aims(cost=(5.0, 1.0)), "True", labels, proba)
    assert found.reason == "Of the 6 rows, calling none of them True costs least"


def test_what_cannot_be_reached_has_a_reason():
    found = decision_for(Aims(precision=0.99), "True", LABELS, 1 - P)
    # How the threshold decides where there is none is no matter of a page that does not use it.
    assert found.reason.startswith("No threshold shows precision >= 0.99: the most that one shows is 0.")
    assert "positive" not in found.reason
    assert math.isnan(found.threshold)


def test_a_risk_that_cannot_be_shown_is_answered_by_one_that_can():
    confidence, wrong = PROBABILITY.max(axis=1), (P > 0.5) != LABELS
    found = rejection_for(Aims(max_risk=0.001), confidence, wrong)
    assert math.isnan(found.threshold)
    least = (
        float(re.search(r"200 rows can show (.*) % or more, not less: ask for that", found.reason)[1]) / 100
    )
    assert rejection_for(Aims(max_risk=least), confidence, wrong).reason is None
    nothing = rejection_for(Aims(max_risk=0.5), P, np.ones(200, dtype=bool))
    assert nothing.reason == "200 rows can show no share"


def test_of_each_group_one_row_counts():
    confidence, wrong = PROBABILITY.max(axis=1), (P > 0.5) != LABELS
    copies = np.repeat(np.arange(200), 5)
    once, many = (
        rejection_for(Aims(max_risk=0.15), confidence[rows], wrong[rows], groups)
        for rows, groups in ((slice(None), None), (copies, copies))
    )
    assert many.threshold == once.threshold
    assert many.answered == pytest.approx(once.answered)
    less = rejection_for(Aims(max_risk=0.001), confidence[copies], wrong[copies], copies)
    assert less.reason.startswith("200 groups, with one row of each, can show")


def test_rows_are_left_to_a_person_until_the_risk_is_low():
    confidence, wrong = PROBABILITY.max(axis=1), (P > 0.5) != LABELS
    found = rejection_for(Aims(max_risk=0.15), confidence, wrong)
    kept = confidence >= found.threshold
    assert found.answered == pytest.approx(kept.mean())
    assert found.risk == pytest.approx(wrong[kept].mean())
    assert 0 < found.risk <= 0.15


def test_nothing_asked_for_is_nothing():
    assert decision_for(Aims(), "True", LABELS, P) is None
    assert rejection_for(Aims(), P, LABELS) is None


def test_of_several_classes_one_is_named():
    check_aims(Aims(max_risk=0.1), 3, None)
    check_aims(Aims(recall=0.9), 2, None)
    check_aims(Aims(recall=0.9), 3, "b")
    with pytest.raises(InputError, match="the target has 3: name it with --positive CLASS"):
        check_aims(Aims(recall=0.9), 3, None)


def test_the_report_says_what_was_asked_for(tmp_path, capsys):
    for name in ("report.html", "report.json"):
        assert (
            main(["report", "--output", str(tmp_path / name), "--cost", "fp=1,fn=5", "--max-risk", "0.02"])
            == 0
        )
        out = capsys.readouterr().out
        assert "a false alarm at 1 and a missed one at 5: call it malignant from a probability of" in out
        assert "at most 2 % wrong: answer from a confidence of" in out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Asked for: least cost, a false alarm at 1 and a missed one at 5." in page
    assert "Asked for: at most 2&nbsp;% wrong." in page
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data["decision"]["cost"] == data["decision"]["false_alarms"] + 5 * data["decision"]["missed"]
    assert data["rejection"]["risk"] <= 0.02


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--precision", "2", "not between 0 and 1"),
        ("--recall", "x", "is not a number"),
        ("--cost", "fp=1", "is not of the form fp=NUMBER,fn=NUMBER"),
        ("--cost", "fp=0,fn=1", "not a number above 0"),
        ("--max-risk", "0", "not a number above 0"),
    ],
)
def test_aims_that_are_none_are_one_line(option, value, message, capsys):
    assert main(["report", option, value]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("aims", [Aims(precision=0.9), Aims(recall=0.9), Aims(cost=(1.0, 4.0))])
def test_rows_count_with_their_weights_as_if_repeated(aims):
    weight = np.random.default_rng(1).integers(1, 5, size=200)
    rows = np.repeat(np.arange(200), weight)
    found = decision_for(aims, "True", LABELS, P, weight.astype(float))
    repeated = decision_for(aims, "True", LABELS[rows], P[rows])
    assert found.threshold == repeated.threshold
    assert found.precision == pytest.approx(repeated.precision)
    assert found.recall == pytest.approx(repeated.recall)
    assert found.cost == pytest.approx(repeated.cost, nan_ok=True)
    # The rows that are told are those of the table.
    assert (found.found, found.false_alarms, found.missed) == counts(found.threshold)


def test_a_count_is_as_many_rows():
    counts = np.random.default_rng(1).integers(1, 5, size=200)
    repeated = LABELS.repeat(counts), P.repeat(counts)
    for aims in (Aims(recall=0.9), Aims(precision=0.9), Aims(cost=(1.0, 2.0))):
        found = decision_for(aims, "True", LABELS, P, counts.astype(float))
        expected = decision_for(aims, "True", *repeated)
        assert found.reason is None
        assert found.threshold == expected.threshold
        assert found.precision == pytest.approx(expected.precision)
        assert found.cost == pytest.approx(expected.cost, nan_ok=True)


def test_rows_that_rounding_alone_tells_apart_are_answered_alike():
    sure = np.repeat([0.6, 0.93], 200) + 1e-14 * np.random.default_rng(0).normal(size=400)
    wrong = np.arange(400) % np.repeat([3, 40], 200) == 0
    found = rejection_for(Aims(max_risk=0.1), sure, wrong)
    assert 0.6 + 1e-6 < found.threshold < 0.93 - 1e-6
    assert found.answered == 0.5
    every = rejection_for(Aims(max_risk=0.5), sure, wrong)
    assert 0.6 - 1e-6 < every.threshold < sure.min()
    assert every.answered == 1.0
