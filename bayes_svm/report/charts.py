"""Geometry of the report's charts: coordinates and SVG paths, but no text that the user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .measures import Reliability, RiskCoveragePoints, ThresholdPoints

__all__ = ["Bar", "Chart", "Tick", "reliability_chart", "risk_chart", "threshold_chart"]

# Size of a chart in drawing units. It is shown 290 to 480 pixels wide.
WIDTH, HEIGHT = 400.0, 310.0
# Margins of a chart. They have room for text of 18 units, which the page uses where charts are small.
LEFT, RIGHT, TOP, BOTTOM = 64.0, 14.0, 12.0, 58.0


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis.

    Parameters
    ----------
    at : float
        Its coordinate, in drawing units.
    text : str
        The label.
    """

    at: float
    text: str


@dataclass(frozen=True)
class Bar:
    """A point with a vertical interval, in drawing units.

    Parameters
    ----------
    x : float
        Horizontal coordinate.
    y : float
        Vertical coordinate of the point.
    low : float
        Vertical coordinate of the interval's lower end.
    high : float
        Vertical coordinate of its upper end.
    """

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Chart:
    """A frame with ticks, lines and bars, in drawing units.

    Parameters
    ----------
    x_ticks : tuple of Tick
        Ticks of the horizontal axis.
    y_ticks : tuple of Tick
        Ticks of the vertical axis.
    lines : tuple of str
        Lines, as SVG paths.
    bars : tuple of Bar
        Points with intervals.
    width : float
        Width of the drawing.
    height : float
        Height of the drawing.
    left : float
        Left edge of the frame.
    right : float
        Right edge of the frame.
    top : float
        Top edge of the frame.
    bottom : float
        Bottom edge of the frame.
    """

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
    """Maps x in [0, 1] and y in [0, `top`] to drawing units."""

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
        """Return the path of a step function: its value is `ys[i]` just before `xs[i]`, or just after."""
        path = f"M{self.x(xs[0]):g} {self.y(ys[0]):g}"
        for x, y in zip(xs[1:], ys[1:], strict=True):
            path += f"V{self.y(y):g}H{self.x(x):g}" if before else f"H{self.x(x):g}V{self.y(y):g}"
        return path


def reliability_chart(result: Reliability) -> Chart:
    """Draw the observed share against the mean prediction; the line is perfect calibration."""
    axes = _Axes()
    bars = tuple(
        Bar(axes.x(one.predicted), axes.y(one.observed), axes.y(one.low), axes.y(one.high))
        for one in result.bins
    )
    diagonal = f"M{axes.x(0):g} {axes.y(0):g}L{axes.x(1):g} {axes.y(1):g}"
    return Chart(axes.x_ticks(), axes.y_ticks(), (diagonal,), bars)


def threshold_chart(curve: ThresholdPoints) -> Chart:
    """Draw precision and recall, in this order, against the threshold."""
    axes = _Axes()
    # The values at a threshold hold down to the next lower one, the first ones down to 0.
    xs = (0.0, *curve.thresholds)
    lines = tuple(axes.steps(xs, (ys[0], *ys), before=True) for ys in (curve.precision, curve.recall))
    return Chart(axes.x_ticks(), axes.y_ticks(), lines)


def risk_chart(curve: RiskCoveragePoints) -> Chart:
    """Draw the error rate among the rows kept against their share, and the error rate of all rows."""
    axes = _Axes(_round_up(max(curve.risk)))
    overall = axes.y(curve.risk[-1])
    lines = (
        axes.steps((0.0, *curve.coverage), (curve.risk[0], *curve.risk), before=True),
        f"M{axes.x(0):g} {overall:g}H{axes.x(1):g}",
    )
    return Chart(axes.x_ticks(), axes.y_ticks(), lines)


def _round_up(value: float) -> float:
    """Return the upper end of an axis that starts at 0, has room for `value` and has four round steps."""
    ends = (0.004, 0.02, 0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8)
    return next((end for end in ends if value <= end * 0.95), 1.0)
