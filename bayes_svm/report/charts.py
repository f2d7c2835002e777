"""Geometry of the report's charts: data in, coordinates and SVG path strings out; no user's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .measures import Reliability, RiskCoveragePoints, ThresholdPoints

__all__ = ["Bar", "Chart", "Tick", "reliability_chart", "risk_chart", "threshold_chart"]

# Shown 290 to 480 pixels wide. The margins hold text of 18 units, which the page uses where charts are small.
WIDTH, HEIGHT = 400.0, 310.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 14.0, 12.0, 58.0


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis, in drawing units."""

    at: float
    text: str


@dataclass(frozen=True)
class Bar:
    """A point with its interval, in drawing units."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Chart:
    """A frame with ticks, lines (path strings) and bars, all in drawing units."""

    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


@dataclass(frozen=True)
class _Axes:
    """Maps x in [0, 1] and y in [0, `top`] onto the frame."""

    top: float = 1.0

    def x(self, value: float) -> float:
        return round(LEFT + value * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM), 1)

    def x_ticks(self) -> tuple[Tick, ...]:
        return tuple(Tick(self.x(k / 4), f"{25 * k} %") for k in range(5))

    def y_ticks(self) -> tuple[Tick, ...]:
        digits = 0 if self.top >= 0.04 else 1
        return tuple(Tick(self.y(self.top * k / 4), f"{25 * k * self.top:.{digits}f} %") for k in range(5))

    def steps(self, xs: Sequence[float], ys: Sequence[float], *, before: bool) -> str:
        """Return the path of a step function whose value `ys[i]` holds just before (or from) `xs[i]`."""
        path = f"M{self.x(xs[0]):g} {self.y(ys[0]):g}"
        for x, y in zip(xs[1:], ys[1:], strict=True):
            path += f"V{self.y(y):g}H{self.x(x):g}" if before else f"H{self.x(x):g}V{self.y(y):g}"
        return path


def reliability_chart(result: Reliability) -> Chart:
    """Observed share against mean prediction, with intervals; the line is perfect calibration."""
    axes = _Axes()
    bars = tuple(
        Bar(axes.x(one.predicted), axes.y(one.observed), axes.y(one.low), axes.y(one.high))
        for one in result.bins
    )
    diagonal = f"M{axes.x(0):g} {axes.y(0):g}L{axes.x(1):g} {axes.y(1):g}"
    return Chart(axes.x_ticks(), axes.y_ticks(), (diagonal,), bars)


def threshold_chart(curve: ThresholdPoints) -> Chart:
    """Precision and recall against the threshold, in this order."""
    axes = _Axes()
    # Each pair holds for thresholds up to its own; the first one from 0 on.
    xs = (0.0, *curve.thresholds)
    lines = tuple(axes.steps(xs, (ys[0], *ys), before=True) for ys in (curve.precision, curve.recall))
    return Chart(axes.x_ticks(), axes.y_ticks(), lines)


def risk_chart(curve: RiskCoveragePoints) -> Chart:
    """Error rate among the rows kept against the share of rows kept, and the error of keeping all."""
    axes = _Axes(_round_up(max(curve.risk)))
    overall = axes.y(curve.risk[-1])
    lines = (
        axes.steps((0.0, *curve.coverage), (curve.risk[0], *curve.risk), before=True),
        f"M{axes.x(0):g} {overall:g}H{axes.x(1):g}",
    )
    return Chart(axes.x_ticks(), axes.y_ticks(), lines)


def _round_up(value: float) -> float:
    """Return the end of an axis from 0 that holds `value` and has four round steps."""
    ends = (0.004, 0.02, 0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8)
    return next((end for end in ends if value <= end * 0.95), 1.0)
