"""Charts as SVG text: bars beside their names, and lines over numbers. No library, no script.

Colours hold on white and on black; text takes the page's colour where the picture is inlined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = ("#2a78c8", "#d1662a", "#3a9a5b", "#a04db5", "#b8912a", "#c23b55")
GREY = "#8a8a8a"
_FONT = "font-family='sans-serif' font-size='12' fill='#555'"
_TITLE = "font-size='15'"
_WIDTH = 860


@dataclass(frozen=True, slots=True)
class Bar:
    """``mark`` is a tick on the same axis: what the value was before."""

    name: str
    value: float
    colour: str = COLOURS[0]
    mark: float | None = None


def bars(title: str, groups: Mapping[str, Sequence[Bar]], limit: float, longest: float) -> str:
    """Horizontal bars with a line at ``limit``; a bar longer than ``longest`` is cut."""
    left, row, width = 430, 18, _WIDTH - 430 - 60
    y, parts = 48, []

    def at(value: float) -> float:
        return left + min(value, longest) / longest * width

    for group, members in groups.items():
        parts.append(_text(8, y + 12, group, "font-weight='bold'"))
        y += row
        for bar in members:
            parts.append(_text(left - 8, y + 12, _short(bar.name), "text-anchor='end'"))
            length = at(bar.value) - left
            parts.append(_box(left, y + 3, length, row - 6, bar.colour))
            parts.append(_text(at(bar.value) + 5, y + 12, f"{bar.value:.2f}"))
            if bar.mark is not None:
                parts.append(_line([(at(bar.mark), y + 1), (at(bar.mark), y + row - 1)], "#222"))
            y += row
        y += 8
    parts.append(_line([(at(limit), 40), (at(limit), y)], GREY, dashes="4 3"))
    return _picture(title, parts, y + 12)


@dataclass(frozen=True, slots=True)
class Line:
    """Points of (x, y): joined where they are a prediction, dots where they were measured."""

    name: str
    points: Sequence[tuple[float, float]]
    is_joined: bool = True


@dataclass(frozen=True, slots=True)
class Axes:
    x: str
    y: str
    is_logarithmic: bool = False


def lines(title: str, axes: Axes, drawn: Sequence[Line]) -> str:
    """One colour per name: a joined line and the dots of the same name share it."""
    left, top, width, height = 90, 50, _WIDTH - 90 - 220, 300
    xs = [x for line in drawn for x, _ in line.points]
    ys = [y for line in drawn for _, y in line.points]
    to_x = _Scale(axes.is_logarithmic, xs, left, left + width)
    to_y = _Scale(axes.is_logarithmic, ys, top + height, top)
    parts = [_line([(left, top), (left, top + height), (left + width, top + height)], GREY)]
    for tick in to_x.ticks():
        parts.append(_line([(to_x(tick), top), (to_x(tick), top + height)], GREY, opacity=0.25))
        parts.append(_text(to_x(tick), top + height + 16, _number(tick), "text-anchor='middle'"))
    for tick in to_y.ticks():
        parts.append(_line([(left, to_y(tick)), (left + width, to_y(tick))], GREY, opacity=0.25))
        parts.append(_text(left - 6, to_y(tick) + 4, _number(tick), "text-anchor='end'"))
    parts.append(_text(left + width / 2, top + height + 36, axes.x, "text-anchor='middle'"))
    parts.append(_text(8, top - 10, axes.y))
    names = list(dict.fromkeys(line.name for line in drawn))
    for line in drawn:
        colour = COLOURS[names.index(line.name) % len(COLOURS)]
        points = [(to_x(x), to_y(y)) for x, y in line.points]
        if line.is_joined:
            parts.append(_line(points, colour, width=2))
        else:
            parts += [
                f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}'/>" for x, y in points
            ]
    for number, name in enumerate(names):
        y = top + 8 + number * 18
        parts.append(_box(left + width + 20, y - 9, 10, 10, COLOURS[number % len(COLOURS)]))
        parts.append(_text(left + width + 36, y, name))
    return _picture(title, parts, top + height + 50)


class _Scale:
    """From values to places on the picture, from zero or by powers of ten."""

    def __init__(self, is_logarithmic: bool, values: Sequence[float], start: float, end: float):
        self._is_logarithmic = is_logarithmic
        self._start, self._end = start, end
        self._low, self._high = 0.0, max([*values, 0.0]) or 1.0
        if is_logarithmic:
            positive = [value for value in values if value > 0]
            self._low = math.floor(math.log10(min(positive)))
            self._high = max(math.ceil(math.log10(max(positive))), self._low + 1)

    def __call__(self, value: float) -> float:
        placed = math.log10(max(value, 10.0**self._low)) if self._is_logarithmic else value
        return self._start + (placed - self._low) / (self._high - self._low) * (
            self._end - self._start
        )

    def ticks(self) -> list[float]:
        if self._is_logarithmic:
            return [10.0**power for power in range(round(self._low), round(self._high) + 1)]
        step = 10.0 ** math.floor(math.log10(self._high))
        while self._high / step < 4:
            step /= 2
        return [step * count for count in range(math.floor(self._high / step) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def _short(name: str) -> str:
    return name if len(name) <= 66 else name[:65] + "…"


def _text(x: float, y: float, said: str, more: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {more}>{escape(said)}</text>"


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' fill='{colour}'/>"
    )


def _line(
    points: Sequence[tuple[float, float]],
    colour: str,
    *,
    width: float = 1,
    dashes: str = "",
    opacity: float = 1,
) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}' "
        f"stroke-dasharray='{dashes}' opacity='{opacity}'/>"
    )


def _picture(title: str, parts: Sequence[str], height: float) -> str:
    body = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height:.0f}' {_FONT}>\n"
        f"<rect width='100%' height='100%' fill='white'/>\n"
        f"{_text(8, 22, title, _TITLE)}\n{body}\n</svg>\n"
    )
