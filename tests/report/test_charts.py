import re

import numpy as np

from bayes_svm.report.charts import _round_up, reliability_chart, risk_chart, threshold_chart
from bayes_svm.report.measures import reliability, risk_coverage_points, threshold_points


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


def test_threshold_steps_hold_up_to_their_threshold():
    chart = threshold_chart(threshold_points("a", np.array([False, True]), np.array([0.5, 1.0])))
    precision, _ = chart.lines
    left, middle, right = chart.x_ticks[0].at, chart.x_ticks[2].at, chart.x_ticks[4].at
    assert precision == (
        f"M{left:g} {chart.y_ticks[2].at:g}V{chart.y_ticks[2].at:g}H{middle:g}V{chart.top:g}H{right:g}"
    )


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
