"""What the report is made of, from a stand-in for the model."""

import pytest

from _data import THREE


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


def test_averages_have_no_interval(report):
    result = report(THREE)
    row = result.performance
    assert row.recall.low != row.recall.low
    assert row.error.low < row.error.value < row.error.high
    assert row.recall.value == pytest.approx(sum(one.recall.value for one in result.per_class) / 3)
    assert all(one.recall.low <= one.recall.value <= one.recall.high for one in result.per_class)
