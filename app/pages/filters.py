"""What templates write: amounts, shares, times, names, charts; all escaped."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from app.words import wording
from core.table.prices import MICROS_PER_UNIT

if TYPE_CHECKING:
    from markupsafe import Markup


def money(amount: float, unit: str | None = "") -> str:
    """An amount of a document, in units: two decimals, or as many as it needs.

    Sums may be larger than any one amount, and below zero.
    """
    text = wording.money(amount * MICROS_PER_UNIT, unit or "")
    return f"−{text[1:]}" if text.startswith("-") else text


def mean(amount: float, unit: str | None = "") -> str:
    """A mean amount: to the cent, or to three digits where that would hide it."""
    near = round(amount, 2) if abs(amount) >= 1 else float(f"{amount:.3g}")
    return money(near, unit)


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def size(n_bytes: int) -> str:
    """A file's size in thousands of bytes, or millions, as file managers show it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.3g} {name}"
    return f"{n_bytes} bytes"


def moment(at: datetime) -> "Markup":
    """A time in words, in UTC, and for machines."""
    from markupsafe import Markup

    words = f"{at.day} {at:%B %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), words)


def day(at: datetime) -> "Markup":
    from markupsafe import Markup

    iso = f"{at:%Y-%m-%d}"
    return Markup('<time datetime="{}">{}</time>').format(iso, f"{at.day} {at:%B %Y}")


def name(text: object) -> "Markup":
    """A name that somebody gave: its direction is its own, and long ones break."""
    from markupsafe import Markup

    return Markup('<bdi class="name">{}</bdi>').format(text)


def chart(svg: str) -> "Markup":
    """A chart of app.words as a part of the page; its names are escaped already."""
    from markupsafe import Markup

    return Markup(svg)


def identifier(text: object) -> str:
    """A name as a part of an id, which has no spaces; others never become the same."""
    return "".join(
        one if one.isascii() and one.isalnum() else f"_{ord(one):x}_"
        for one in str(text)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "money": money,
    "mean": mean,
    "percent": wording.percent,
    "number": number,
    "size": size,
    "moment": moment,
    "day": day,
    "name": name,
    "chart": chart,
    "identifier": identifier,
}
