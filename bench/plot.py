"""Plots as SVG, written by hand: the scores of all bars, and cost against work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

FONT = 'font-family="system-ui, sans-serif" font-size="12"'
INK, MET, MISSED, LINE = "#334155", "#0f766e", "#b45309", "#cbd5e1"
COLOURS = ("#0f766e", "#b45309", "#4338ca", "#be185d")


def bars(results: Sequence[Mapping[str, Any]]) -> str:
    """One horizontal bar a result: how far it reaches, 1 being what it must reach; a tick marks the aim.

    The axis is logarithmic, and a bar to the right of the line "must" is met, whatever its unit.
    """
    shown = [result for result in results if result.get("worst") and result.get("must")]
    width, left, row = 800, 230, 24
    height = 46 + row * len(shown)
    low, high = 0.1, 10.0

    def x(value: float) -> float:
        share = math.log(min(high, max(low, value)) / low) / math.log(high / low)
        return left + share * (width - left - 90)

    parts = [_text(x(1), 16, "must", "middle"), _line(x(1), 22, x(1), height - 20, INK)]
    for at, result in enumerate(shown):
        reached, aim = reach(result, result["worst"]), reach(result, result["aim"])
        y = 30 + at * row
        colour = MET if result["state"] == "met" else MISSED
        parts.append(_text(left - 8, y + 12, f"{result['bar']} ({result['bound']})", "end"))
        parts.append(_box(x(low), y, x(reached) - x(low), row - 8, colour))
        parts.append(_line(x(aim), y - 2, x(aim), y + row - 6, INK, dashed=True))
        sign = "×" if result["score"] == "times" else ""
        parts.append(_text(x(reached) + 6, y + 12, f"{result['worst']:g}{sign}", "start"))
    return _svg(width, height, parts, "Worst pair of each bar; dashed: the aim")


def reach(result: Mapping[str, Any], value: float) -> float:
    """`value` as a multiple of what the bar must reach, larger being better."""
    at_least = result["bound"].startswith("≥")
    return value / result["must"] if at_least else result["must"] / max(value, 1e-12)


def lines(series: Mapping[str, Sequence[tuple[float, float]]], x_name: str, y_name: str) -> str:
    """Points and lines on two logarithmic axes, one colour a series."""
    points = [point for those in series.values() for point in those]
    (x0, x1), (y0, y1) = (_range([p[axis] for p in points]) for axis in (0, 1))
    width, height, left, bottom = 640, 400, 70, 50

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / x0) / math.log(x1 / x0)
        up = math.log(y / y0) / math.log(y1 / y0)
        return left + across * (width - left - 20), height - bottom - up * (height - bottom - 20)

    parts = [_line(left, 20, left, height - bottom, LINE)]
    parts.append(_line(left, height - bottom, width - 20, height - bottom, LINE))
    for value in _ticks(x0, x1):
        parts.append(_text(place(value, y0)[0], height - bottom + 18, f"{value:g}", "middle"))
    for value in _ticks(y0, y1):
        parts.append(_text(left - 8, place(x0, value)[1] + 4, f"{value:g}", "end"))
    for at, (name, those) in enumerate(series.items()):
        colour = COLOURS[at % len(COLOURS)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*point) for point in those))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
            for a, b in map(lambda p: place(*p), those)
        ]
        parts.append(_text(left + 14, 34 + 18 * at, name, "start", colour))
    parts.append(_text((left + width) / 2, height - 10, x_name, "middle"))
    parts.append(f'<text transform="rotate(-90 16 {height / 2})" x="16" y="{height / 2}" {FONT} '
                 f'text-anchor="middle" fill="{INK}">{escape(y_name)}</text>')  # fmt: skip
    return _svg(width, height, parts, f"{y_name} against {x_name}")


def _range(values: Sequence[float]) -> tuple[float, float]:
    """A little wider than the values, so that no point lies on the frame."""
    return min(values) / 1.2, max(values) * 1.2


def _ticks(low: float, high: float) -> list[float]:
    """Powers of two within the range, every second one where there are many."""
    powers = [2.0**n for n in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    return powers[:: 1 + len(powers) // 8]


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" {FONT} text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
    )


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="3 2"' if dashed else ""
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}"{dash}/>'


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(1.0, width):.1f}" height="{height}" fill="{colour}"/>'


def _svg(width: int, height: int, parts: Sequence[str], title: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", ground, *parts, "</svg>"]) + "\n"
