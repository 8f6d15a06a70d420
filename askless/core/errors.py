"""The exceptions of core. A refusal names the field, the rule and the wrong value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Refusal:
    """One broken rule: the field, what was expected, and what came instead.

    `rows` says in which rows of a table, where there are such.
    """

    field: str
    rule: str
    found: str = ""
    rows: str = ""

    @property
    def told(self) -> str:
        """Return the rule and its rows without the wrong value, which may be secret."""
        return f"{self.rule}; not so in {self.rows}" if self.rows else self.rule

    def __str__(self) -> str:
        """Return the one line that a user reads."""
        tail = f"; found {self.found}" if self.found else ""
        return f"{self.field}: {self.rule}{tail}"


def shorten(raw: object) -> str:
    """Return a wrong value as short text."""
    text = str(raw) if isinstance(raw, Decimal) else repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."


def find_nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is spelt most like a wrong one; None if none is.

    Upper and lower case, and white space around words, make no difference.
    """
    folded = {name.strip().casefold(): name for name in known}
    matches = get_close_matches(word.strip().casefold(), folded, n=1)
    return folded[matches[0]] if matches else None


def nearest_hint(word: str, known: Iterable[str]) -> str:
    """Return the end of a rule that names the nearest known word; "" if none is."""
    nearest = find_nearest(word, known)
    return "" if nearest is None else f"; the nearest is {nearest!r}"


def list_some(words: Sequence[str], most: int) -> str:
    """Return the first words of a list as text, and how many more there are."""
    n_more = len(words) - most
    return ", ".join(words[:most]) + (f" and {n_more} more" if n_more > 0 else "")


class CoreError(Exception):
    """Base of all errors of core; subclasses say which kind of input was wrong."""


class RefusedError(CoreError, ValueError):
    """Wrong input, with every broken rule that could be found at once."""

    def __init__(self, refusals: Iterable[Refusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__("\n".join(str(refusal) for refusal in self.refusals))

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[tuple[Refusal, ...]]]:
        """Return the parts from which another process unpickles the error."""
        return RefusedError, (self.refusals,)


class AnswerError(RefusedError):
    """An answer of the wrong type or to an unknown feature."""


class OverBudgetError(CoreError):
    """A charge that would pass the budget; amounts in micro-units."""

    def __init__(self, feature: str, price: int, remaining: int) -> None:
        self.feature = feature
        self.price = price
        self.remaining = remaining
        super().__init__(
            f"{feature}: its price must not exceed what remains of the budget"
        )


class UselessAnswerError(CoreError):
    """An answer that would be charged although it can't change what is predicted."""

    def __init__(self, feature: str, price: int) -> None:
        self.feature = feature
        #: in micro-units
        self.price = price
        super().__init__(
            f"{feature}: this answer can't be used: nothing that the model asks "
            "depends on it; it was not charged"
        )


class ClosedError(CoreError):
    """An answer to a session that accepts none any more."""
