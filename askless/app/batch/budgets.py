"""Budgets as users write them, and the names of options that users know."""

from collections.abc import Callable, Sequence

from askless.core.catalogue.prices import to_micros
from askless.core.errors import Refusal, RefusedError
from askless.core.table.texts.numbers import to_decimal_point

UNLIMITED = ("inf", "unlimited")

#: Returns the name that the user knows, such as `--budget-from` for `budget_from`.
Naming = Callable[[str], str]


def parse_budget(text: str, where: str) -> int | None:
    """Parse a budget to micro-units (see `to_decimal_point`); None: no limit."""
    if text.strip().lower() in UNLIMITED:
        return None
    try:
        return to_micros(to_decimal_point(text.strip()))
    except ValueError as error:
        raise RefusedError([Refusal(where, f"{error}, or inf", repr(text))]) from None


def parse_price(text: str | None, where: str) -> int | None:
    """Parse the price of an error to micro-units; None: no price."""
    if text is None:
        return None
    price = parse_budget(text, where)
    if price is None or price <= 0:
        raise RefusedError([Refusal(where, "must be an amount above 0", text)])
    return price


def largest_budget(limits: Sequence[int | None]) -> int | None:
    """Return the largest budget; None: unlimited."""
    amounts = [limit for limit in limits if limit is not None]
    return max(amounts, default=0) if len(amounts) == len(limits) else None
