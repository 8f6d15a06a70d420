"""Questions of a session, and the answers that each accepts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from askless.connection import Json, plain
from askless.links import Awaited, Call, Waiting

Value = bool | int | float | str
Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]


@dataclass(frozen=True)
class AnyQuestion:
    """What is asked next, and its price. Answer it by one of the five methods.

    `features` is all that the price reveals: more than one for a bundle. `range` and
    `categories` are what training saw; other values are legal.
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

    @Call
    async def answer(self, value: Value) -> None:
        """Answer with a value."""
        await self.session.send({self.feature: value}, {})

    @Call
    async def ordered(self) -> None:
        """Pay now; the result comes later, by the session's `answer`."""
        await self.say("ordered")

    @Call
    async def unavailable(self) -> None:
        """Say that there is no result."""
        await self.say("unavailable")

    @Call
    async def refused(self) -> None:
        """Say that it is not to be obtained."""
        await self.say("refused")

    @Call
    async def unknown(self) -> None:
        """Say that nobody knows."""
        await self.say("unknown")

    async def say(self, outcome: Outcome) -> None:
        """Answer without a value."""
        await self.session.send({}, {self.feature: outcome})


class Question(AnyQuestion, Waiting):
    """What is asked next in a `PredictionSession`."""


class AsyncQuestion(AnyQuestion, Awaited):
    """What is asked next in an `AsyncPredictionSession`."""


def has_value(values: Mapping[str, Any], feature: str) -> bool:
    """Return whether a mapping has a value that is not missing."""
    value = values.get(feature)
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def split(
    values: Mapping[str, Any], features: list[str]
) -> tuple[dict[str, Value], dict[str, Outcome]]:
    """Split features into those with a value and those that are unavailable."""
    found = {name: values[name] for name in features if has_value(values, name)}
    return found, {name: "unavailable" for name in features if name not in found}


def body(
    values: Mapping[str, Value],
    outcomes: Mapping[str, Outcome] | None,
    *,
    insist: bool,
) -> Json:
    """Return a request with answers that have a value, and others without one.

    Only who insists says so: an older service knows no such field.
    """
    answers: list[Json] = [
        {"feature": name, "outcome": "value", "value": plain(value)}
        for name, value in values.items()
    ]
    answers += [
        {"feature": name, "outcome": outcome}
        for name, outcome in (outcomes or {}).items()
    ]
    return {"answers": answers} | ({"insist": True} if insist else {})
