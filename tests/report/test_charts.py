import re

import numpy as np
import pytest

from bayes_svm.report.charts import (
    LEAST,
    _round_step,
    _round_up,
    importance_chart,
    reliability_chart,
    risk_chart,
    spread_chart,
    threshold_chart,
)
from bayes_svm.report.importance import ColumnImportance, Importance
from bayes_svm.report.measures import reliability, risk_coverage_points, threshold_points
from bayes_svm.report.spread import Spread


def numbers(path):
    return [float(text) for text in re.findall(r"-?[\d.]+", path)]


def test_everything_stays_in_the_frame():
    random = np.random.default_rng(0)
    p, y = random.random(300), random.random(300) < 0.4
    charts = [
        reliability_chart(reliability(p, y)),
        threshold_chart(threshold_points("a", y, p)),
        risk_chart(risk_coverage_points(p, y)),
    ]
    for chart in charts:
        for line in chart.lines:
            assert not re.search("[^MVHL0-9. ]", line)
            assert min(numbers(line)) >= chart.top
            assert max(numbers(line)) <= chart.right
        for bar in chart.bars:
            assert chart.left <= bar.x <= chart.right
            assert chart.top <= bar.high <= bar.y <= bar.low <= chart.bottom


def test_threshold_lines_have_gaps_where_nothing_is_called():
    curve = threshold_points("a", np.array([False, True]), np.array([0.5, 0.8]))
    chart = threshold_chart(curve)
    precision, recall = chart.lines
    left, right = chart.left, chart.right
    points = re.findall(r"([ML])([\d.]+) ([\d.]+)", precision)
    assert len(points) == 81
    assert float(points[50][2]) == pytest.approx((chart.top + chart.bottom) / 2)
    assert float(points[51][2]) == chart.top
    assert float(points[-1][1]) == pytest.approx(left + 0.8 * (right - left), abs=0.1)
    assert len(re.findall("[ML]", recall)) == 101


def test_a_picture_of_two_classes_has_them_on_both_sides_of_the_axis():
    one = Spread("a", 10, (10, *[0] * 19), 0)
    other = Spread("b", 1000, (*[0] * 18, 1, 999), 0)
    chart = spread_chart((one, other), "b")
    up, down = chart.strips
    assert (up.name, down.name) == ("b", "a")
    assert all(block.y + block.height <= down.base for block in up.blocks)
    assert all(block.y >= up.base for block in down.blocks)
    # A single row is seen.
    assert up.blocks[0].height == LEAST
    assert (up.blocks[1].low, up.blocks[1].n) == (95, 999)
    # Shares of a class are compared, not numbers of rows.
    assert up.blocks[1].height == pytest.approx(down.blocks[0].height, rel=0.01)
    for strip in chart.strips:
        for block in strip.blocks:
            assert chart.left <= block.x <= block.x + block.width <= chart.right
            assert chart.top <= block.y <= block.y + block.height <= chart.bottom


def test_a_picture_of_several_classes_has_a_strip_for_each():
    classes = [Spread(f"c{k}", 5, (*[0] * k, 5, *[0] * (19 - k)), 0) for k in range(5)]
    chart = spread_chart(classes, "c2")
    assert [strip.name for strip in chart.strips] == ["c0", "c1", "c2", "c3", "c4"]
    bases = [strip.base for strip in chart.strips]
    assert bases == sorted(bases)
    assert bases[-1] <= chart.bottom
    for strip, before in zip(chart.strips[1:], bases, strict=False):
        assert strip.blocks[0].y > before


def test_columns_are_drawn_with_their_errors():
    columns = tuple(ColumnImportance(f"c{k}", 0.03 - 0.01 * k, 0.005, 0.0, 0.0) for k in range(5))
    chart = importance_chart(Importance(columns, 10, 3))
    zero = chart.x_ticks[0].at
    assert [tick.text for tick in chart.x_ticks] == ["0", "1", "2", "3", "4"]
    first, last = chart.strips[0], chart.strips[-1]
    assert first.blocks[0].x == zero
    assert last.blocks[0].x + last.blocks[0].width == pytest.approx(zero, abs=0.1)
    for strip in chart.strips:
        low, high = strip.whisker
        assert chart.left <= low <= high <= chart.right
        assert (
            low <= (end := max(strip.blocks[0].x, strip.blocks[0].x + strip.blocks[0].width)) or end <= zero
        )


def _end(block, zero):
    """The end of a bar that is not at zero."""
    return block.x if block.x < zero else block.x + block.width


def test_columns_without_any_effect_are_drawn():
    chart = importance_chart(Importance((ColumnImportance("c", 0.0, 0.0, 0.0, 0.0),), 10, 3))
    assert chart.strips[0].blocks[0].width == 1.0


@pytest.mark.parametrize("highest", [1e-4, 0.00091, 0.002, 0.0099, 0.01, 0.04, 0.3, 1.0])
def test_axes_have_some_round_steps(highest):
    step = _round_step(highest)
    assert 1 < highest / step < 5.5
    assert float(f"{step:.1g}") == pytest.approx(step)


def test_risk_axis_fits_the_risk():
    assert _round_up(0.0) == 0.004
    assert _round_up(0.025) == 0.04
    assert _round_up(0.5) == 0.6
    assert _round_up(1.0) == 1.0
    chart = risk_chart(risk_coverage_points(np.array([0.9, 0.8]), np.array([False, False])))
    assert [tick.text for tick in chart.y_ticks] == ["0.0 %", "0.1 %", "0.2 %", "0.3 %", "0.4 %"]


def test_axis_ticks_are_not_rounded_away():
    for end in (0.004, 0.02, 0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8, 1.0):
        risk = round(end * 9000) / 10000
        hits = np.arange(10000) < round(risk * 10000)
        chart = risk_chart(risk_coverage_points(np.full(10000, 0.7), hits))
        labels = [float(tick.text[:-2]) for tick in chart.y_ticks]
        np.testing.assert_allclose(labels, 100 * np.linspace(0, _round_up(risk), 5), atol=1e-9)
