"""Filters of templates: amounts, shares, times, names, charts; all escape."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from askless.app.words import wording
from askless.core.catalogue.prices import MICROS_PER_UNIT

if TYPE_CHECKING:
    from markupsafe import Markup


def money(amount: float, unit: str | None = "") -> str:
    """Return an amount in units with two decimals, or more if needed.

    Sums may exceed the limit of single amounts, and be negative.
    """
    text = wording.money(amount * MICROS_PER_UNIT, unit or "")
    return f"−{text[1:]}" if text.startswith("-") else text


def mean(amount: float, unit: str | None = "") -> str:
    """Return a mean amount to the cent, or to three digits if it is below 1."""
    near = round(amount, 2) if abs(amount) >= 1 else float(f"{amount:.3g}")
    return money(near, unit)


def size(n_bytes: int) -> str:
    """Return the size of a file in kB, MB or GB, as file managers show it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.3g} {name}"
    return f"{n_bytes} bytes"


def moment(at: datetime) -> "Markup":
    """Return a time in words, in UTC, and for machines."""
    from markupsafe import Markup

    words = f"{at.day} {at:%B %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), words)


def day(at: datetime) -> "Markup":
    from markupsafe import Markup

    iso = f"{at:%Y-%m-%d}"
    return Markup('<time datetime="{}">{}</time>').format(iso, f"{at.day} {at:%B %Y}")


def name(text: object) -> "Markup":
    """Return a name from outside: its text direction is isolated, long ones wrap."""
    from markupsafe import Markup

    return Markup('<bdi class="name">{}</bdi>').format(text)


def case(session: Any) -> "Markup":
    """Return what a case is called: its caller's name, else its model and its start.

    `one` is a session, or its summary.
    """
    began = session.created_at
    usual = f"{session.model.name}, {began.day} {began:%b %H:%M}"
    return name(session.client_ref or usual)


def chart(svg: str) -> "Markup":
    """Return a chart of askless.app.words as markup; its text is escaped already."""
    from markupsafe import Markup

    return Markup(svg)


def identifier(text: object) -> str:
    """Return a name as a part of an id; different names give different ids."""
    return "".join(
        character
        if character.isascii() and character.isalnum()
        else f"_{ord(character):x}_"
        for character in str(text)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "money": money,
    "mean": mean,
    "percent": wording.percent,
    "number": wording.number,
    "size": size,
    "moment": moment,
    "day": day,
    "name": name,
    "case": case,
    "chart": chart,
    "identifier": identifier,
}
