"""Questions of a session, and the answers that each accepts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack

from askless.client.connection import Json, to_python
from askless.client.links import Awaited, Call, Waiting

Value = bool | int | float | str
Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]


@dataclass(frozen=True)
class AnyQuestion:
    """The next question and its price. Answer it by one of the five methods.

    `features` is all that the price reveals: more than one for a bundle. `range` and
    `categories` are what training saw; other values are legal. `category_labels` is
    what people read for the categories, in their order; either is an answer.
    """

    session: Any = field(repr=False)
    number: int
    feature: str
    features: list[str]
    label: str
    type: str
    unit: str | None
    categories: list[str]
    price: float
    cost: float
    group: str | None
    group_paid: bool
    why: str
    alternatives: list[Json]
    range: list[float] | None = None
    category_labels: list[str] = field(default_factory=list)

    @Call
    async def answer(self, value: Value) -> None:
        """Answer with a value."""
        await self.session.send_answers({self.feature: value}, {})

    @Call
    async def ordered(self) -> None:
        """Answer that it is paid; send the result later by the session's `answer`."""
        await self.send_outcome("ordered")

    @Call
    async def unavailable(self) -> None:
        """Answer that there is no result."""
        await self.send_outcome("unavailable")

    @Call
    async def refused(self) -> None:
        """Answer that it must not be obtained."""
        await self.send_outcome("refused")

    @Call
    async def unknown(self) -> None:
        """Answer that the value is not known."""
        await self.send_outcome("unknown")

    async def send_outcome(self, outcome: Outcome) -> None:
        """Answer without a value."""
        await self.session.send_answers({}, {self.feature: outcome})


class Question(AnyQuestion, Waiting):
    """A question of a `PredictionSession`."""


class AsyncQuestion(AnyQuestion, Awaited):
    """A question of an `AsyncPredictionSession`."""


def has_value(values: Mapping[str, Any], feature: str) -> bool:
    """Return whether a mapping has a value that is not missing.

    Missing are None, an empty text, NaN, and what pandas has for a missing cell. None
    of the last two equals itself.
    """
    value = to_python(values.get(feature))
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and (value == value) is True  # not NaN


def split_by_value(
    values: Mapping[str, Any], features: list[str]
) -> tuple[dict[str, Value], dict[str, Outcome]]:
    """Split features into those with a value and those that are unavailable."""
    present = {name: values[name] for name in features if has_value(values, name)}
    return present, {name: "unavailable" for name in features if name not in present}


class Flags(TypedDict, total=False):
    """What a caller may insist on."""

    insist: bool
    accept_unseen: bool
    as_cells: bool


def build_answers(
    values: Mapping[str, Value],
    outcomes: Mapping[str, Outcome] | None,
    **flags: Unpack[Flags],
) -> Json:
    """Return the body of a request with answers, with and without a value.

    Flags are sent only if true, since older services refuse the fields.
    """
    answers: list[Json] = [
        {"feature": name, "outcome": "value", "value": to_python(value)}
        for name, value in values.items()
    ]
    answers += [
        {"feature": name, "outcome": outcome}
        for name, outcome in (outcomes or {}).items()
    ]
    return {"answers": answers} | {name: True for name, value in flags.items() if value}
