"""What the report is made of."""

import numpy as np
import pytest

from _data import THREE
from bayes_svm.report import content
from bayes_svm.report.aims import Aims
from bayes_svm.report.errors import InputError


def test_surprising_rows(report):
    result = report()
    first = result.surprising[0]
    assert [one.probability for one in result.surprising] == sorted(
        one.probability for one in result.surprising
    )
    # Rows are counted from 1, and the labels alternate.
    assert first.label == (THREE[0] if first.row % 2 else "well")
    assert {cell.column for cell in first.cells} == {'"><img onerror=alert(2)>', "colour"}
    for one in result.surprising:
        low, high = one.interval
        assert 0.0 <= low < high <= 1.0


def test_rows_of_different_weights_are_right_or_wrong_as_a_whole(report):
    weights = np.tile([0.2, 0.2, 1.8, 1.8], 10)
    rows = report(("a", "b"), more={"weights": weights}).performance.error
    cases = report(("a", "b"), more={"weights": 5 * weights, "counted": True}).performance.error
    groups = report(("a", "b"), more={"weights": weights, "groups": np.arange(40)}).performance.error
    assert rows == groups
    assert rows.high - rows.low > 1.5 * (cases.high - cases.low)


def test_averages_have_no_interval(report):
    result = report(THREE)
    row = result.performance
    assert row.recall.low != row.recall.low
    assert row.error.low < row.error.value < row.error.high
    assert row.recall.value == pytest.approx(sum(one.recall.value for one in result.per_class) / 3)
    assert all(one.recall.low <= one.recall.value <= one.recall.high for one in result.per_class)


@pytest.mark.parametrize("labels", [THREE[:2], THREE])
def test_all_parts_count_the_same_errors(report, labels):
    result = report(labels)
    confusion = np.array(result.confusion)
    wrong = int(confusion.sum() - np.trace(confusion))
    assert confusion.sum(axis=1).tolist() == [one.n for one in result.model.classes]
    assert result.performance.error.value == pytest.approx(wrong / 40)
    assert sum(one.wrong for one in result.spreads) == wrong
    assert (result.answered[0].wrong, result.answered[0].n) == (wrong, 40)
    assert result.risk_coverage.risk[-1] == pytest.approx(wrong / 40)
    assert result.base_error == pytest.approx(1 - max(one.n for one in result.model.classes) / 40)


def test_the_positive_class_may_be_the_first(report):
    labels = ("a", "b")
    second, first = report(labels), report(labels, more={"positive": "a"})
    assert (first.positive, second.positive) == ("a", "b")
    assert first.performance.error == second.performance.error
    (tn, fp), (fn, tp) = second.confusion
    assert second.performance.recall.value == pytest.approx(tp / (tp + fn))
    assert first.performance.recall.value == pytest.approx(tn / (tn + fp))
    assert first.thresholds[0].found[0] == tn + fp
    assert first.spreads[0].counts == second.spreads[0].counts[::-1]
    assert {one.name: one.error for one in first.papers} == {one.name: one.error for one in second.papers}


def test_one_of_several_classes_against_the_others(report):
    result = report(THREE, more={"positive": "c"}, aims=Aims(cost=(1.0, 5.0)))
    assert [one.label for one in result.thresholds] == ["c"]
    assert result.positive == "c"
    assert result.costs == (1.0, 5.0)
    assert result.decision.cost == result.decision.false_alarms + 5 * result.decision.missed
    with pytest.raises(InputError, match="--positive"):
        report(THREE, aims=Aims(cost=(1.0, 5.0)))


def test_weights_count_in_the_error(report):
    weights = np.tile([1.0, 1.0, 3.0, 3.0], 10)
    result = report(("a", "b"), more={"weights": weights})
    total = result.performance.error.value * weights.sum()
    assert total == pytest.approx(round(total))
    assert result.source.weighted
    assert result.base_error == pytest.approx(0.5)


def test_groups_leave_together(report):
    groups = np.arange(40) // 4
    result = report(("a", "b"), more={"groups": groups})
    assert result.source.n_groups == 10
    assert report(("a", "b")).source.n_groups is None
    assert result.importance.n_rows == 40


def test_a_mixture_has_its_members(report):
    result = report(quick=False)
    assert result.model.mixture
    assert all(one.weight > 0 for one in result.model.members)
    assert all(len(one.machines) == 1 for one in result.model.members)
    one = report()
    assert not one.model.mixture
    assert [(member.C, member.weight) for member in one.model.members] == [(1.0, 1.0)]


def test_with_too_many_rows_columns_are_not_shuffled(report, monkeypatch):
    monkeypatch.setattr(content, "MOST_ROWS", 30)
    result = report()
    assert result.importance.columns == ()
    assert "With more than 30 rows" in result.importance.reason


def test_the_day_can_be_fixed(report, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    result = report()
    assert result.made.date == "1970-01-01"
    assert set(result.made.versions) == {"Python", "bayes-svm", "numpy", "scipy", "scikit-learn", "pandas"}
    for wrong in ("today", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(InputError, match="give seconds since 1970"):
            report()
