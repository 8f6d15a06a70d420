"""A plan as a drawing: boxes from left to right, lines from each to what follows it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

from markupsafe import escape

from app.pages.plan_words import PlanNode

# In points of the screen.
WIDTH, GAP_X, GAP_Y, PAD = 212, 34, 14, 10
SIZE, LEAD = 12, 16
# Widths of letters, in parts of their size; one in bold letters is wider.
NARROW, BROAD, BOLD = 0.58, 1.05, 1.08
# What a part of a box may take: more is cut, and stands in the list.
MOST_LINES = 3


class Text(NamedTuple):
    """A line of a box."""

    words: str
    kind: str


class Box(NamedTuple):
    """What is drawn of a node, with its place; `parent` is the number of a box."""

    x: float
    y: float
    height: float
    texts: Sequence[Text]
    kind: str
    parent: int | None


class Layout(NamedTuple):
    boxes: Sequence[Box]
    width: float
    height: float


def lay_out(root: PlanNode) -> Layout:
    """Place each node right of its parent, in the middle of what follows it."""
    boxes: list[Box] = []
    place(root, 0, 0.0, None, boxes)
    width = max(box.x for box in boxes) + WIDTH
    return Layout(boxes, width, max(box.y + box.height for box in boxes))


def place(
    node: PlanNode, depth: int, top: float, parent: int | None, boxes: list[Box]
) -> None:
    """Place a node and all below it within the height that they need, from a top on."""
    texts = list(lines_of(node))
    height, whole = height_of(texts), tree_height(node)
    kind = "end" if node.is_end else "cut" if node.goes_on else "ask"
    x, y = depth * (WIDTH + GAP_X), top + (whole - height) / 2
    boxes.append(Box(float(x), y, height, texts, kind, parent))
    number = len(boxes) - 1
    below = sum(tree_height(one) + GAP_Y for one in node.children) - GAP_Y
    top += max(0.0, (whole - below) / 2)
    for child in node.children:
        place(child, depth + 1, top, number, boxes)
        top += tree_height(child) + GAP_Y


def tree_height(node: PlanNode) -> float:
    """Return the height of a node and of all below it."""
    own = height_of(list(lines_of(node)))
    below = sum(tree_height(one) + GAP_Y for one in node.children) - GAP_Y
    return max(own, below)


def height_of(texts: Sequence[Text]) -> float:
    return float(len(texts) * LEAD + 2 * PAD - (LEAD - SIZE))


def lines_of(node: PlanNode) -> Iterator[Text]:
    """Yield the lines of a box, each short enough for it."""
    parts = [("answers", node.answers), ("head", node.head)]
    for kind, words in [*parts, *(("fact", one) for one in node.lines)]:
        for line in wrap(words, is_bold=kind == "head"):
            yield Text(line, kind)


def wrap(words: str, *, is_bold: bool = False) -> list[str]:
    """Return words in lines that fit a box; what is too long ends in dots."""
    most, lines, line = (WIDTH - 2 * PAD) / (BOLD if is_bold else 1.0), [], ""
    for word in words.split():
        longer = f"{line} {word}".strip()
        if width_of(longer) <= most:
            line = longer
            continue
        lines += [line] * bool(line)
        while width_of(word) > most:
            fits = next(n for n in range(1, len(word) + 1) if width_of(word[:n]) > most)
            lines.append(word[: fits - 1])
            word = word[fits - 1 :]
        line = word
    lines += [line] * bool(line)
    if len(lines) > MOST_LINES:
        last = lines[MOST_LINES - 1]
        while width_of(f"{last}…") > most:
            last = last[:-1]
        lines = [*lines[: MOST_LINES - 1], f"{last}…"]
    return lines


def width_of(words: str) -> float:
    """Return at most how wide words are, in points."""
    broad = sum(east_asian_width(one) in "WFA" or one in "mwMW@%" for one in words)
    return SIZE * (broad * BROAD + (len(words) - broad) * NARROW)


def draw(layout: Layout, said: str) -> str:
    """Return a layout as SVG; `said` is what it is for who can't see it."""
    width, height = layout.width + 2, layout.height + 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="flow" '
        f'viewBox="-1 -1 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" aria-label="{escape(said)}" '
        f'font-family="system-ui, sans-serif" font-size="{SIZE}">'
    ]
    parts += [
        draw_line(layout.boxes[box.parent], box)
        for box in layout.boxes
        if box.parent is not None
    ]
    parts += [draw_box(box) for box in layout.boxes]
    return "".join([*parts, "</svg>"])


def draw_line(parent: Box, box: Box) -> str:
    """Draw the way from the side of one box to that of the next."""
    start = parent.x + WIDTH, parent.y + parent.height / 2
    end = box.x, box.y + box.height / 2
    middle = (start[0] + end[0]) / 2
    return (
        f'<path d="M{start[0]:.1f} {start[1]:.1f} C{middle:.1f} {start[1]:.1f} '
        f'{middle:.1f} {end[1]:.1f} {end[0]:.1f} {end[1]:.1f}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.6"/>'
    )


def draw_box(box: Box) -> str:
    """Draw a box with its lines; an end is round, one that goes on has dashes."""
    radius = min(16, box.height / 2) if box.kind == "end" else 4
    edge = {
        "end": 'stroke="var(--series-1)" stroke-width="2"',
        "cut": 'stroke="currentColor" stroke-dasharray="5 4"',
        "ask": 'stroke="currentColor"',
    }[box.kind]
    parts = [
        f'<g class="{box.kind}"><rect x="{box.x:.1f}" y="{box.y:.1f}" '
        f'width="{WIDTH}" height="{box.height:.1f}" rx="{radius:.0f}" '
        f'fill="var(--paper)" {edge}/>'
    ]
    y = box.y + PAD + SIZE * 0.8
    for text in box.texts:
        look = {"answers": ' font-style="italic"', "head": ' font-weight="700"'}
        parts.append(
            f'<text x="{box.x + PAD:.1f}" y="{y:.1f}" fill="currentColor" '
            f'unicode-bidi="isolate"{look.get(text.kind, "")}>'
            f"{escape(text.words)}</text>"
        )
        y += LEAD
    return "".join([*parts, "</g>"])
