import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from _data import noisy
from bayes_svm import BayesSVC, leave_one_out, xi_alpha
from bayes_svm.metrics.confusion import Confusion
from bayes_svm.report.formats import interval, percent
from bayes_svm.report.performance import left_out_performance, papers, performance


def test_undefined_precision_is_a_dash():
    row = performance("never predicted", (Confusion(tp=0, fp=0, fn=5, tn=15),))
    assert (row.error.value, row.recall.value, row.f1.value) == (0.25, 0.0, 0.0)
    assert percent(row.precision.value) == "–"
    assert interval(row.precision) == ""
    both = performance("average", (Confusion(0, 0, 5, 15), Confusion(5, 5, 0, 10)))
    assert both.precision.value == 0.25


@pytest.mark.parametrize("positive", [0, 1])
def test_recall_and_precision_are_those_of_the_positive_class(positive):
    X, y = noisy(60)
    model, notes = BayesSVC().fit(X, y), []
    rows = {row.name: row for row in papers(model, X, y, positive, None, notes)}
    assert list(rows) == ["training", "xi-alpha", "span", "exact leave-one-out"]
    said = np.where(model.decision_function(X) > 0, 1, -1)
    label = (-1, 1)[positive]
    assert rows["training"].recall.value == pytest.approx(np.mean(said[y == label] == label))
    assert rows["training"].precision.value == pytest.approx(np.mean(y[said == label] == label))
    assert rows["xi-alpha"].error.value == pytest.approx(xi_alpha(model, X, y).error)
    assert notes == []


def test_an_estimate_that_needs_an_exact_solution_is_left_out_with_a_note():
    X, y = noisy(60)
    with pytest.warns(ConvergenceWarning):
        model = BayesSVC(kernel="sigmoid", gamma=5.0, coef0=-2.0).fit(X, y)
    assert not model.solution_.exact
    notes = []
    with pytest.warns(ConvergenceWarning):
        rows = papers(model, X, y, 1, None, notes)
    assert [row.name for row in rows] == ["training", "xi-alpha", "exact leave-one-out"]
    assert any(note.startswith("No span estimate: ") for note in notes)


def test_weights_count_rows():
    X, y = noisy(40)
    weight = np.tile([1.0, 2.0], 20)
    model = BayesSVC().fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(40), weight.astype(int))
    repeated = BayesSVC(gamma=model.kernel_.gamma).fit(X[again], y[again])
    one = {row.name: row.error.value for row in papers(model, X, y, 1, weight, [])}
    other = {row.name: row.error.value for row in papers(repeated, X[again], y[again], 1, None, [])}
    assert one["training"] == pytest.approx(other["training"])


def test_the_intervals_are_those_of_the_groups():
    truth, said = np.arange(60) < 30, np.arange(60) % 7 > 2
    copies, once = np.repeat(np.arange(60), 9), left_out_performance("", truth, said, None, None)
    many = left_out_performance("", truth[copies], said[copies], None, copies)
    rows = left_out_performance("", truth[copies], said[copies], None, None)
    for measure in ("error", "recall", "precision", "f1"):
        a, b, c = (getattr(one, measure) for one in (once, many, rows))
        assert a.value == pytest.approx(b.value) == pytest.approx(c.value)
        # As wide as of one row of each group.
        assert b.low < c.low < c.high < b.high
        assert (b.high - b.low) / (a.high - a.low) == pytest.approx(1.0, abs=0.1)


def test_a_class_that_is_never_predicted_in_groups():
    row = left_out_performance("", np.arange(8) < 4, np.zeros(8, dtype=bool), None, np.arange(8) // 2)
    assert interval(row.precision) == ""
    assert row.recall.low == 0.0 < row.recall.high


@pytest.mark.filterwarnings("ignore:The decision values do not separate")
def test_estimates_of_single_rows_have_no_intervals_where_rows_belong_together():
    X, y = noisy(60)
    groups = np.arange(60) // 5
    model, notes = BayesSVC().fit(X, y, groups=groups), []
    rows = papers(model, X, y, 1, None, notes, grouped=True)
    assert all(np.isnan(row.error.low) for row in rows)
    again = np.repeat(np.arange(60), 5)
    alike = BayesSVC(gamma=20.0).fit(X[again], y[again], groups=again)
    papers(alike, X[again], y[again], 1, None, notes, grouped=True)
    assert "with whole groups left out" in notes[0]


@pytest.mark.filterwarnings("ignore:The decision values do not separate")
def test_a_heavy_row_is_left_out_whole_by_the_exact_estimate():
    X, y = noisy(60)
    weight, alone, notes = np.where(np.arange(60) % 6 == 0, 4.0, 0.4), np.arange(60), []
    model = BayesSVC(gamma=5.0).fit(X, y, sample_weight=weight, groups=alone)
    found = {row.name: row for row in papers(model, X, y, 1, weight, notes, alone=alone)}
    rows = leave_one_out(model, X, y, sample_weight=weight, groups=alone)
    assert found["exact leave-one-out"].error.value == pytest.approx(
        np.average(rows.predicted != rows.y, weights=weight)
    )
    assert np.isnan(found["exact leave-one-out"].error.low)
    assert notes[0].startswith("Of rows of at least twice the mean weight, here 10, the xi-alpha and span")


def test_averages_over_classes_do_not_depend_on_the_class_named():
    X, y = load_iris(return_X_y=True)
    model = BayesSVC().fit(X, y)
    first, none = (papers(model, X, y, positive, None, []) for positive in (0, None))
    for one, other in zip(first, none, strict=True):
        assert one.recall.value == other.recall.value
        assert one.precision.value == other.precision.value
