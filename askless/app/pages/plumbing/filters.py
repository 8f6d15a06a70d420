"""Filters of templates: amounts, shares, times, names, charts; all escape."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from askless.app.words import wording
from askless.app.words.challenges import format_points
from askless.app.words.savings import describe_lost
from askless.core.catalogue.prices import MICROS_PER_UNIT

if TYPE_CHECKING:
    from markupsafe import Markup


def format_money(amount: float, unit: str | None = "") -> str:
    """Return an amount in units with two decimals, or more if needed.

    Sums may exceed the limit of single amounts, and be negative.
    """
    text = wording.money(amount * MICROS_PER_UNIT, unit or "")
    return f"−{text[1:]}" if text.startswith("-") else text


def format_mean(amount: float, unit: str | None = "") -> str:
    """Return a mean amount to the cent, or to three digits if it is below 1."""
    rounded = round(amount, 2) if abs(amount) >= 1 else float(f"{amount:.3g}")
    return format_money(rounded, unit)


def format_size(n_bytes: int) -> str:
    """Return the size of a file in kB, MB or GB, as file managers show it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.3g} {name}"
    return f"{n_bytes} bytes"


def format_time(at: datetime) -> "Markup":
    """Return a time in words, in UTC, and for machines."""
    from markupsafe import Markup

    words = f"{at.day} {at:%B %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), words)


def format_day(at: datetime) -> "Markup":
    from markupsafe import Markup

    iso = f"{at:%Y-%m-%d}"
    return Markup('<time datetime="{}">{}</time>').format(iso, f"{at.day} {at:%B %Y}")


def isolate_name(text: object) -> "Markup":
    """Return a name from outside: its text direction is isolated, long ones wrap."""
    from markupsafe import Markup

    return Markup('<bdi class="name">{}</bdi>').format(text)


def mark_code(text: object) -> "Markup":
    """Return a name or sentence from outside; what it has in backticks is code."""
    from markupsafe import Markup, escape

    parts = str(text).split("`")
    if len(parts) % 2 == 0:
        return isolate_name(text)
    marked = (
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
    return isolate_name(Markup("").join(marked))


def name_case(session: Any) -> "Markup":
    """Return the name of a session's case, else its model, start and id."""
    began = session.created_at
    usual = f"{session.model.name}, {began.day} {began:%b %H:%M}, {session.id[-4:]}"
    return isolate_name(session.client_ref or usual)


def mark_chart_safe(svg: str) -> "Markup":
    """Return a chart of askless.app.words as markup; its text is escaped already."""
    from markupsafe import Markup

    return Markup(svg)


def to_html_id(text: object) -> str:
    """Return a name as a part of an id; different names give different ids."""
    return "".join(
        character
        if character.isascii() and character.isalnum()
        else f"_{ord(character):x}_"
        for character in str(text)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "money": format_money,
    "mean": format_mean,
    "percent": wording.percent,
    "lost": describe_lost,
    "points": format_points,
    "number": wording.format_number,
    "size": format_size,
    "moment": format_time,
    "day": format_day,
    "name": isolate_name,
    "case": name_case,
    "code": mark_code,
    "chart": mark_chart_safe,
    "identifier": to_html_id,
}
