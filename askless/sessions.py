"""Sessions, their questions, and a patient who answers from a dictionary."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from askless.connection import Connection, Json, known_fields, plain
from askless.problems import UnansweredError

Value = bool | int | float | str
Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]


class PredictionSession:
    """One case: yields questions until nothing is left to ask or none is worth it.

    Results that were `ordered` come in by `answer`, after the loop too.
    """

    def __init__(self, connection: Connection, raw: Json) -> None:
        self.connection = connection
        self.raw = raw

    @property
    def id(self) -> str:
        """Name of the session, to take it up again by."""
        return str(self.raw["id"])

    @property
    def state(self) -> str:
        """One of `open`, `waiting` and `closed`."""
        return str(self.raw["state"])

    @property
    def prediction(self) -> Json:
        """Label, display, probability, margin and classes, as of the last answer.

        Its `steps` are what each answer did, as in `explanation`.
        """
        prediction: Json = self.raw["prediction"]
        return prediction

    @property
    def explanation(self) -> list[str]:
        """What each answer did: `age raised the chance of disease from 12 to 18 %`."""
        steps: list[Json] = (self.raw["prediction"] or {}).get("steps", [])
        return [f"{one['feature']} {one['words']}" for one in steps]

    @property
    def spent(self) -> float:
        """What has been charged so far."""
        return float(self.raw["budget"]["spent"])

    @property
    def remaining(self) -> float | None:
        """What is left of the budget; None where that is unlimited."""
        remaining = self.raw["budget"]["remaining"]
        return None if remaining is None else float(remaining)

    @property
    def answers(self) -> list[Json]:
        """What was answered, the known values too."""
        answers: list[Json] = self.raw["answers"]
        return answers

    @property
    def prices(self) -> Json | None:
        """The session's price list; None where its prices are the model's."""
        prices: Json | None = self.raw["prices"]
        return prices

    @property
    def pending(self) -> list[str]:
        """Features that are paid and whose results are to come."""
        return list(self.raw["pending"])

    @property
    def should_stop(self) -> bool:
        """Whether the service advises to stop; advice never locks."""
        return bool(self.raw["should_stop"])

    @property
    def stop_reason(self) -> str | None:
        """Why, in one word; None while there is no reason."""
        reason = self.raw["stop_reason"]
        return None if reason is None else str(reason)

    @property
    def question(self) -> "Question | None":
        """What is asked next; None where nothing is left to ask."""
        raw = self.raw["question"]
        return None if raw is None else Question(self, **known_fields(Question, raw))

    @property
    def label_set(self) -> list[str] | None:
        """Labels of which one is true with the coverage asked for; at the end."""
        found: list[str] | None = self.prediction["label_set"]
        return found

    @property
    def certificate(self) -> Json | None:
        """When the session stops early, or why it never does; if that was asked."""
        certificate: Json | None = self.raw["certificate"]
        return certificate

    def __iter__(self) -> "Iterator[Question]":
        return self.questions()

    def questions(self, *, goes_on: bool = False) -> "Iterator[Question]":
        """Yield questions to answer; `goes_on` also past the advice to stop.

        Raises UnansweredError where nothing was answered to the last one.
        """
        while (question := self.question) and (goes_on or not self.should_stop):
            version = self.raw["version"]
            yield question
            if self.raw["version"] == version:
                name = question.feature
                raise UnansweredError(
                    f"answer the question for {name}, say that it is unavailable, "
                    "refused, unknown or ordered, or break"
                )

    def answer(self, feature: str, value: Value) -> Self:
        """Answer or correct any feature, not just the one that is asked."""
        return self.give({feature: value})

    def give(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome] | None = None,
    ) -> Self:
        """Send values, then outcomes without one, in one request: all or none."""
        answers: list[Json] = [
            {"feature": name, "outcome": "value", "value": plain(value)}
            for name, value in values.items()
        ]
        answers += [
            {"feature": name, "outcome": outcome}
            for name, outcome in (outcomes or {}).items()
        ]
        return self.take("POST", "/answers", json={"answers": answers})

    def change_budget(self, budget: float | None) -> Self:
        """Raise or lower what may be charged in all; None: unlimited."""
        return self.take("PATCH", json={"budget": budget})

    def change_aim(self, aim: Mapping[str, float] | None) -> Self:
        """Change what sessions are to reach on average; None: all the budget pays."""
        return self.take("PATCH", json={"aim": None if aim is None else dict(aim)})

    def stop(self) -> Self:
        """End the session; pending results are still taken."""
        return self.take("POST", "/stop")

    def refresh(self) -> Self:
        """Ask the service how the session stands."""
        return self.take("GET")

    def ledger(self) -> list[Json]:
        """List the session's charges and reversals, oldest first."""
        return list(self.connection.pages(f"/predict/{self.id}/ledger"))

    def erase(self) -> None:
        """Erase what was answered; the amounts stay in the ledger."""
        self.connection.call("DELETE", f"/predict/{self.id}")
        self.refresh()

    def take(self, method: str, path: str = "", **more: Any) -> Self:
        """Send a request to the session, and take over how it stands then."""
        self.raw = self.connection.ask(method, f"/predict/{self.id}{path}", **more)
        return self


@dataclass(frozen=True)
class Question:
    """What is asked next, and its price. Answer it by one of the five methods.

    `features` is all that the price reveals: more than one for a bundle.
    """

    session: PredictionSession = field(repr=False)
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

    def answer(self, value: Value) -> None:
        """Answer with a value."""
        self.session.give({self.feature: value})

    def ordered(self) -> None:
        """Pay now; the result comes later, by the session's `answer`."""
        self.say("ordered")

    def unavailable(self) -> None:
        """Say that there is no result."""
        self.say("unavailable")

    def refused(self) -> None:
        """Say that it is not to be obtained."""
        self.say("refused")

    def unknown(self) -> None:
        """Say that nobody knows."""
        self.say("unknown")

    def say(self, outcome: Outcome) -> None:
        """Answer without a value."""
        self.session.give({}, {self.feature: outcome})


@dataclass(frozen=True)
class SimulatedPatient:
    """Answers from a dictionary; what it lacks, or is None or NaN, is unavailable."""

    values: Mapping[str, Any]

    def play(
        self, session: PredictionSession, *, goes_on: bool = False
    ) -> PredictionSession:
        """Answer all that is asked, and bring all that is pending."""
        for question in session.questions(goes_on=goes_on):
            self.answer(question)
        if session.pending:
            session.give(*self.outcomes(session.pending))
        return session

    def answer(self, question: Question) -> None:
        """Answer a question; for a bundle, all that its price reveals."""
        if not self.has(question.feature):
            question.unavailable()
        else:
            question.session.give(*self.outcomes(question.features))

    def outcomes(
        self, features: Sequence[str]
    ) -> tuple[dict[str, Value], dict[str, Outcome]]:
        """Split features into those with a value and those without."""
        values = {name: self.values[name] for name in features if self.has(name)}
        return values, {name: "unavailable" for name in features if name not in values}

    def has(self, feature: str) -> bool:
        """Return whether there is a value."""
        value = self.values.get(feature)
        return value is not None and not (
            isinstance(value, float) and math.isnan(value)
        )
