"""Write SVG: elements whose text and attributes are escaped, and widths of text.

Every chart and drawing is written here. A charting library did this before; importing
it took as long as the rest of a report, and its colours, styles and ids had to be
replaced in its output. Axes, lines, bars and legends are all that the charts need.
"""

from collections.abc import Sequence
from unicodedata import east_asian_width

from markupsafe import escape

# Colours are names that a style sheet sets, for light and for dark.
INK, PAPER = "currentColor", "var(--paper)"
SERIES = tuple(f"var(--series-{number})" for number in range(1, 7))
COLOURS = """
:root { --paper: #fff; --series-1: #1f5fa8; --series-2: #b3501c;
  --series-3: #2b7a3d; --series-4: #8a3f9b; --series-5: #8a6d00; --series-6: #666 }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --series-1: #7db4f2; --series-2: #f0a074;
    --series-3: #7fcf93; --series-4: #d59be3; --series-5: #e0c352; --series-6: #aaa }
}
"""
# Widths of letters as shares of the font size; a bold letter is wider by a factor.
NARROW, BROAD, BOLD = 0.58, 1.05, 1.08


def draw_element(tag: str, *children: str, **attributes: object) -> str:
    """Return an element; `stroke_width=2` is written as `stroke-width="2"`.

    Attributes that are None are left out, and floats are rounded to tenths. Children
    are elements, or text that is escaped already.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(write_value(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(children)
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def write_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return str(value)


def draw_text(words: str, x: float, y: float, **attributes: object) -> str:
    """Return a line of text; its direction does not turn what stands beside it."""
    known = {"x": float(x), "y": float(y), "fill": INK, "unicode_bidi": "isolate"}
    return draw_element("text", str(escape(words)), **(known | attributes))


def draw_svg(
    view_box: Sequence[float],
    font_size: int,
    label: str,
    children: Sequence[str],
    **attributes: object,
) -> str:
    """Return a whole SVG; `label` describes it to those who can't see it."""
    return draw_element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=" ".join(write_value(float(value)) for value in view_box),
        font_family="system-ui, sans-serif",
        font_size=font_size,
        aria_label=label,
        **attributes,
    )


def to_standalone(svg: str, ink: str = "svg { color: #888 }") -> str:
    """Return an SVG as a file of its own, with the colours that a page would set.

    The default `ink` can be read on a light and on a dark background.
    """
    head, end, rest = svg.partition(">")
    return f"{head}{end}<style>{COLOURS}{ink}</style>{rest}"


def text_width(words: str, font_size: float) -> float:
    """Return an upper bound of how wide words are, in the unit of the font size."""
    broad = sum(
        east_asian_width(character) in "WFA" or character in "mwMW@%"
        for character in words
    )
    return font_size * (broad * BROAD + (len(words) - broad) * NARROW)


def cut_to_width(words: str, width: float, font_size: float) -> str:
    """Return words that fit a width; dots stand for the end of what is too long."""
    if text_width(words, font_size) <= width:
        return words
    while words and text_width(f"{words}…", font_size) > width:
        words = words[:-1]
    return f"{words}…"


def wrap_words(
    words: str, width: float, font_size: float, most_lines: int
) -> list[str]:
    """Return words in lines that fit a width; dots stand for lines left out."""
    lines, line = [], ""
    for word in words.split():
        longer = f"{line} {word}".strip()
        if text_width(longer, font_size) <= width:
            line = longer
            continue
        lines += [line] * bool(line)
        while text_width(word, font_size) > width:
            # The shortest beginning that is too wide; one letter less fits.
            n_fitting = next(
                n
                for n in range(1, len(word) + 1)
                if text_width(word[:n], font_size) > width
            )
            lines.append(word[: n_fitting - 1])
            word = word[n_fitting - 1 :]
        line = word
    lines += [line] * bool(line)
    if len(lines) <= most_lines:
        return lines
    last = cut_to_width(f"{lines[most_lines - 1]}…", width, font_size)
    return [*lines[: most_lines - 1], last]
