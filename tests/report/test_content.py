"""What the report is made of, from a stand-in for the model."""

import pytest

from _data import THREE
from bayes_svm.report.render import to_html


def test_surprising_rows(report):
    result = report()
    first = result.surprising[0]
    assert [one.probability for one in result.surprising] == sorted(
        one.probability for one in result.surprising
    )
    assert first.predicted != first.label
    assert first.predicted_probability == pytest.approx(1 - first.probability)
    # Rows are counted from 1, and the labels alternate.
    assert first.label == (THREE[0] if first.row % 2 else "well")
    assert list(first.values) == ['"><img onerror=alert(2)>', "colour"]


def test_surprising_rows_have_a_probability_interval(report):
    for labels in (THREE[:2], THREE):
        result = report(labels)
        for one in result.surprising:
            low, high = one.interval
            assert 0.0 <= low < high <= 1.0
            assert f"<small>{100 * low:.1f} to {100 * high:.1f}&nbsp;%</small>" in to_html(result)


def test_averages_have_no_interval(report):
    result = report(THREE)
    row = result.performance
    assert row.recall.low != row.recall.low
    assert row.error.low < row.error.value < row.error.high
    assert row.recall.value == pytest.approx(sum(one.recall.value for one in result.per_class) / 3)
    assert all(one.recall.low <= one.recall.value <= one.recall.high for one in result.per_class)
