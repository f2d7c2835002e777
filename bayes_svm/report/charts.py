"""Geometry of the report's charts: coordinates and SVG paths, but no text that the user wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .importance import Importance
from .measures import Reliability, RiskCoveragePoints, ThresholdPoints
from .spread import Spread

__all__ = [
    "Bar",
    "Block",
    "Chart",
    "Strip",
    "Tick",
    "importance_chart",
    "reliability_chart",
    "risk_chart",
    "spread_chart",
    "threshold_chart",
]

# Size of a chart in drawing units. It is shown 290 to 520 pixels wide.
WIDTH, HEIGHT = 460.0, 330.0
# Margins of a chart. They have room for text of 18 units, which the page uses where charts are small.
LEFT, RIGHT, TOP, BOTTOM = 66.0, 14.0, 12.0, 62.0
# Width of the picture of the probabilities, its margin at the bottom, and the height of a class in it.
WIDE, FOOT, HALF, STRIP = 640.0, 66.0, 128.0, 44.0
# Space for the names of several classes, and for those of columns.
NAMES, COLUMNS = 170.0, 200.0
# A bar for a single row is at least so high.
LEAST = 2.0
# Number of columns drawn, and the height of each.
MOST_COLUMNS, LINE = 15, 26.0


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
class Block:
    """A filled rectangle with what it stands for.

    Parameters
    ----------
    x : float
        Left edge.
    y : float
        Upper edge.
    width : float
        Width.
    height : float
        Height.
    n : int
        Number of rows that it stands for.
    low : int
        Lower end of its probabilities, in percent.
    """

    x: float
    y: float
    width: float
    height: float
    n: int = 0
    low: int = 0


@dataclass(frozen=True)
class Strip:
    """The histogram of one class, or the bar of one column.

    Parameters
    ----------
    name : str
        The class or column.
    base : float
        Vertical coordinate that bars stand on, or middle of a line.
    blocks : tuple of Block
        The bars.
    whisker : tuple of float or None
        Left and right end of an interval.
    """

    name: str
    base: float
    blocks: tuple[Block, ...]
    whisker: tuple[float, float] | None = None


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
    strips : tuple of Strip
        Histograms or bars with names.
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
    strips: tuple[Strip, ...] = ()
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

    def steps(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        """Return the path of a step function whose value just before `xs[i]` is `ys[i]`."""
        path = f"M{self.x(xs[0]):g} {self.y(ys[0]):g}"
        for x, y in zip(xs[1:], ys[1:], strict=True):
            path += f"V{self.y(y):g}H{self.x(x):g}"
        return path

    def line(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        """Return the path through some points, with gaps where y is NaN."""
        path, command = "", "M"
        for x, y in zip(xs, ys, strict=True):
            if math.isnan(y):
                command = "M"
                continue
            path += f"{command}{self.x(x):g} {self.y(y):g}"
            command = "L"
        return path


def spread_chart(classes: Sequence[Spread], positive: str | None) -> Chart:
    """Draw the histograms of the left-out probabilities, as shares of each class.

    With two classes, the bars of the positive class stand on the axis, and those of the other hang from it.
    With more, each class has a strip of its own.
    """
    highest = max(max(one.counts) / one.n for one in classes)
    strips: tuple[Strip, ...]
    if positive is not None and len(classes) == 2:
        middle = TOP + HALF
        left, up, height = LEFT, sorted(classes, key=lambda one: one.label != positive), 2 * HALF
        strips = (
            _strip(up[0], left, middle - 1, (HALF - 4) / highest),
            _strip(up[1], left, middle + 1, -(HALF - 4) / highest),
        )
    else:
        each = max(STRIP, 2 * HALF / len(classes))
        left, height = NAMES, each * len(classes)
        strips = tuple(
            _strip(one, left, round(TOP + each * (k + 1) - 6, 1), (each - 12) / highest)
            for k, one in enumerate(classes)
        )
    across = WIDE - left - RIGHT
    ticks = tuple(Tick(round(left + across * k / 4, 1), f"{25 * k} %") for k in range(5))
    return Chart(
        ticks, (), strips=strips, width=WIDE, height=TOP + height + FOOT, left=left, right=WIDE - RIGHT,
        bottom=TOP + height,
    )  # fmt: skip


def _strip(one: Spread, left: float, base: float, scale: float) -> Strip:
    """Bars of one class that stand on a base, or hang from it if the scale is negative."""
    step = (WIDE - left - RIGHT) / len(one.counts)
    blocks = []
    for k, count in enumerate(one.counts):
        if count:
            height = round(max(LEAST, abs(scale) * count / one.n), 1)
            top = base - height if scale > 0 else base
            low = round(100 * k / len(one.counts))
            blocks.append(
                Block(round(left + k * step + 1, 1), round(top, 1), round(step - 2, 1), height, count, low)
            )
    return Strip(one.label, base, tuple(blocks))


def importance_chart(result: Importance) -> Chart:
    """Draw what shuffling the most important columns costs, with two standard errors on either side."""
    columns = result.columns[:MOST_COLUMNS]
    highest = max(max(one.probability_lost + 2 * one.probability_error for one in columns), 1e-4)
    lowest = min(min(one.probability_lost - 2 * one.probability_error for one in columns), 0.0)
    across = (WIDE - COLUMNS - RIGHT) / (highest - lowest)

    def x(value: float) -> float:
        return round(COLUMNS + (value - lowest) * across, 1)

    strips = []
    for k, one in enumerate(columns):
        middle, error = TOP + LINE * (k + 0.5), 2 * one.probability_error
        left, right = sorted((x(0.0), x(one.probability_lost)))
        block = Block(left, middle - 7, max(1.0, round(right - left, 1)), 14.0)
        whisker = (x(one.probability_lost - error), x(one.probability_lost + error))
        strips.append(Strip(one.name, middle, (block,), whisker))
    bottom = TOP + LINE * len(columns)
    step = _round_step(highest)
    ticks = tuple(Tick(x(k * step), f"{100 * k * step:.3g}") for k in range(int(highest / step) + 1))
    return Chart(
        ticks, (), strips=tuple(strips), width=WIDE, height=bottom + FOOT, left=COLUMNS, right=WIDE - RIGHT,
        bottom=bottom,
    )  # fmt: skip


def _round_step(highest: float) -> float:
    """Return a distance of ticks of which two to five fit below a value."""
    power = 10.0 ** math.floor(math.log10(highest))
    return next(step * power for step in (0.2, 0.5, 1.0, 2.0) if highest / (step * power) < 5.5)


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
    xs = [k / 100 for k in range(101)]
    lines = tuple(axes.line(xs, ys) for ys in (curve.precision, curve.recall))
    return Chart(axes.x_ticks(), axes.y_ticks(), lines)


def risk_chart(curve: RiskCoveragePoints) -> Chart:
    """Draw the error rate among the rows kept against their share, and the error rate of all rows."""
    axes = _Axes(_round_up(max(curve.risk)))
    overall = axes.y(curve.risk[-1])
    lines = (
        axes.steps((0.0, *curve.coverage), (curve.risk[0], *curve.risk)),
        f"M{axes.x(0):g} {overall:g}H{axes.x(1):g}",
    )
    return Chart(axes.x_ticks(), axes.y_ticks(), lines)


def _round_up(value: float) -> float:
    """Return the upper end of an axis that starts at 0, has room for `value` and has four round steps."""
    ends = (0.004, 0.02, 0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8)
    return next((end for end in ends if value <= end * 0.95), 1.0)
