"""A plan as a flow chart: boxes from left to right, joined by lines."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from askless.app.words.charts.svg import (
    BOLD,
    INK,
    PAPER,
    SERIES,
    draw_element,
    draw_svg,
    draw_text,
    wrap_words,
)
from askless.app.words.plan_words import PlanNode

# In pixels.
WIDTH, GAP_X, GAP_Y, PAD = 212, 34, 14, 10
SIZE, LEAD = 12, 16
# Most lines of a text in a box; the list below the drawing has the whole text.
MOST_LINES = 3
# Edges of boxes: of an end, of an unfinished branch, and of a question.
EDGES: dict[str, dict[str, object]] = {
    "end": {"stroke": SERIES[0], "stroke_width": 2},
    "cut": {"stroke": INK, "stroke_dasharray": "5 4"},
    "ask": {"stroke": INK},
}
LOOKS: dict[str, dict[str, object]] = {
    "answers": {"font_style": "italic"},
    "head": {"font_weight": 700},
}


class Text(NamedTuple):
    """A line of a box."""

    words: str
    kind: str


class Box(NamedTuple):
    """A node as it is drawn; `parent` is the position of its parent in the list."""

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


def compute_layout(root: PlanNode) -> Layout:
    """Return the boxes of a plan: each right of its parent, centred on its children."""
    boxes: list[Box] = []
    place_subtree(root, 0, 0.0, None, boxes)
    width = max(box.x for box in boxes) + WIDTH
    return Layout(boxes, width, max(box.y + box.height for box in boxes))


def place_subtree(
    node: PlanNode, depth: int, top: float, parent: int | None, boxes: list[Box]
) -> None:
    """Append the boxes of a node and its descendants, below `top`."""
    texts = list(box_lines(node))
    height, whole = box_height(texts), tree_height(node)
    kind = "end" if node.is_end else "cut" if node.goes_on else "ask"
    x, y = depth * (WIDTH + GAP_X), top + (whole - height) / 2
    boxes.append(Box(float(x), y, height, texts, kind, parent))
    number = len(boxes) - 1
    # There is no gap after the last child.
    below = sum(tree_height(child) + GAP_Y for child in node.children) - GAP_Y
    # Children that need less height than their parent's box are centred beside it.
    top += max(0.0, (whole - below) / 2)
    for child in node.children:
        place_subtree(child, depth + 1, top, number, boxes)
        top += tree_height(child) + GAP_Y


def tree_height(node: PlanNode) -> float:
    """Return the height that a node and its descendants need."""
    own = box_height(list(box_lines(node)))
    below = sum(tree_height(child) + GAP_Y for child in node.children) - GAP_Y
    return max(own, below)


def box_height(texts: Sequence[Text]) -> float:
    return float(len(texts) * LEAD + 2 * PAD - (LEAD - SIZE))


def box_lines(node: PlanNode) -> Iterator[Text]:
    """Yield the lines of a box, each short enough for it."""
    parts = [("answers", node.answers), ("head", node.head)]
    for kind, words in [*parts, *(("fact", line) for line in node.lines)]:
        width = (WIDTH - 2 * PAD) / (BOLD if kind == "head" else 1.0)
        for line in wrap_words(words, width, SIZE, MOST_LINES):
            yield Text(line, kind)


def draw_layout(layout: Layout, label: str) -> str:
    """Return a layout as SVG; `label` describes it for screen readers."""
    width, height = layout.width + 2, layout.height + 2
    marks = [
        draw_line(layout.boxes[box.parent], box)
        for box in layout.boxes
        if box.parent is not None
    ]
    marks += [draw_box(box) for box in layout.boxes]
    look = {"class_": "flow", "width": width, "height": height}
    return draw_svg((-1, -1, width, height), SIZE, label, marks, **look)


def draw_line(parent: Box, box: Box) -> str:
    x, y = parent.x + WIDTH, parent.y + parent.height / 2
    x_end, y_end = box.x, box.y + box.height / 2
    middle = (x + x_end) / 2
    curve = (
        f"M{x:.1f} {y:.1f} C{middle:.1f} {y:.1f} {middle:.1f} {y_end:.1f} "
        f"{x_end:.1f} {y_end:.1f}"
    )
    return draw_element("path", d=curve, fill="none", stroke=INK, stroke_opacity="0.6")


def draw_box(box: Box) -> str:
    """Draw a box with its text; an end is round, an unfinished branch is dashed."""
    radius = min(16, box.height / 2) if box.kind == "end" else 4
    place: dict[str, object] = {
        "x": box.x,
        "y": box.y,
        "width": WIDTH,
        "height": box.height,
    }
    marks = [
        draw_element("rect", **place, rx=radius, fill=PAPER, **EDGES[box.kind]),
        *(
            draw_text(
                text.words,
                box.x + PAD,
                box.y + PAD + SIZE * 0.8 + number * LEAD,
                **LOOKS.get(text.kind, {}),
            )
            for number, text in enumerate(box.texts)
        ),
    ]
    return draw_element("g", *marks, class_=box.kind)
