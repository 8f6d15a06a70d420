"""Small line charts, drawn in a millisecond: a page of a case has no time for more."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import escape

from app.words.wording import percent

WIDTH, HEIGHT = 420, 200
LEFT, RIGHT, TOP, BOTTOM = 62, 30, 12, 46
MOST_LABELS = 7


class Line(NamedTuple):
    """Shares from 0 to 1, one beside the other, with the names of their places."""

    values: Sequence[float]
    labels: Sequence[str]
    said: str
    x_name: str
    y_name: str
    #: of 95 %, of each value; () where there are none
    intervals: Sequence[tuple[float, float]] = ()


def line_chart(line: Line, top: float = 1.0) -> str:
    """Return a chart as SVG; its points are numbered in `data-place`."""
    step = (WIDTH - LEFT - RIGHT) / max(1, len(line.values) - 1)
    xs = [LEFT + step * place for place in range(len(line.values))]
    parts = [*grid(line, xs, top)]
    for x, (low, high) in zip(xs, line.intervals, strict=False):
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{height(low, top):.1f}" '
            f'y2="{height(high, top):.1f}" class="interval"/>'
        )
    points = [(x, height(y, top)) for x, y in zip(xs, line.values, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline points="{path}" class="line"/>')
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" data-place="{place}"/>'
        for place, (x, y) in enumerate(points)
    ]
    head = f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" class="small-chart"'
    return f'{head} aria-label="{escape(line.said)}">{"".join(parts)}</svg>'


def height(share: float, top: float) -> float:
    """Return where a share stands, from above."""
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, share / top)))


def grid(line: Line, xs: Sequence[float], top: float) -> list[str]:
    """Return the lines behind, and what is written at both axes."""
    parts = []
    for share in (0.0, top / 2, top):
        y = height(share, top)
        parts += [
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{percent(share)}</text>",
        ]
    every = -(-len(xs) // MOST_LABELS)
    low = HEIGHT - BOTTOM + 16
    for x, label in list(zip(xs, line.labels, strict=True))[::every]:
        parts.append(
            f'<text x="{x:.1f}" y="{low}" text-anchor="middle">{escape(label)}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts += [
        f'<text x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(line.x_name)}</text>",
        f'<text transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) '
        f'rotate(-90)" text-anchor="middle">{escape(line.y_name)}</text>',
    ]
    return parts
