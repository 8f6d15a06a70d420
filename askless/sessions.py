"""Sessions: their questions, answers, spend and predictions."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from askless.connection import Connection, Json, known_fields
from askless.links import Awaited, Call, Change, Waiting
from askless.problems import UnansweredError
from askless.questions import (
    AnyQuestion,
    AsyncQuestion,
    Outcome,
    Question,
    Value,
    body,
    has_value,
    split,
)

QuestionT = TypeVar("QuestionT", bound=AnyQuestion)


class AnySession(Generic[QuestionT]):
    """One case: questions until nothing is left to ask or none is worth it.

    Results that were `ordered` come in by `answer`, after the loop too.
    """

    question_kind: ClassVar[type[Any]]

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
    def client_ref(self) -> str | None:
        """What the caller knows the case by."""
        found: str | None = self.raw["client_ref"]
        return found

    @property
    def warnings(self) -> list[Json]:
        """What is odd about the answers: `feature`, `kind` and `detail` of each."""
        found: list[Json] = self.raw["warnings"]
        return found

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
    def stop_words(self) -> str | None:
        """The reason as a sentence, with what remains of the budget."""
        words: str | None = self.raw.get("stop_words")
        return words

    @property
    def question(self) -> QuestionT | None:
        """What is asked next; None where nothing is left to ask."""
        raw, kind = self.raw["question"], self.question_kind
        return None if raw is None else kind(self, **known_fields(kind, raw))

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

    @Change
    async def answer(self, feature: str, value: Value, *, insist: bool = False) -> None:
        """Answer or correct any feature, not just the one that is asked.

        `insist` charges it although the service says that it can't be used.
        """
        await self.send({feature: value}, {}, insist=insist)

    @Change
    async def give(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome] | None = None,
        *,
        insist: bool = False,
    ) -> None:
        """Send values, then outcomes without one, in one request: all or none."""
        await self.send(values, outcomes or {}, insist=insist)

    @Call
    async def check(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome] | None = None,
        *,
        insist: bool = False,
    ) -> Json:
        """Return what answers would charge and what is odd about them; give none."""
        wanted = body(values, outcomes, insist=insist)
        path = f"/predict/{self.id}/answers/check"
        return await self.connection.ask("POST", path, json=wanted)

    @Change
    async def play(self, values: Mapping[str, Any], *, goes_on: bool = False) -> None:
        """Answer all that is asked from a mapping, and bring all that is pending.

        What it lacks, or is None or NaN, is unavailable; `goes_on` past the advice to
        stop.
        """
        while (question := self.question) and (goes_on or not self.should_stop):
            # Of a bundle all that its price reveals, unless what is asked is lacking.
            is_there = has_value(values, question.feature)
            features = question.features if is_there else [question.feature]
            await self.send(*split(values, features))
        if self.pending:
            await self.send(*split(values, self.pending))

    @Change
    async def change_budget(self, budget: float | None) -> None:
        """Raise or lower what may be charged in all; None: unlimited."""
        await self.take("PATCH", json={"budget": budget})

    @Change
    async def change_aim(self, aim: Mapping[str, float] | None) -> None:
        """Change what sessions are to reach on average; None: all the budget pays."""
        await self.take("PATCH", json={"aim": None if aim is None else dict(aim)})

    @Change
    async def stop(self) -> None:
        """End the session; pending results are still taken."""
        await self.take("POST", "/stop")

    @Change
    async def refresh(self) -> None:
        """Ask the service how the session stands."""
        await self.take("GET")

    @Call
    async def ledger(self) -> list[Json]:
        """List the session's charges and reversals, oldest first."""
        return await self.connection.items(f"/predict/{self.id}/ledger")

    @Call
    async def tell_outcome(self, label: str) -> Json:
        """Record the true label of the case, or correct it; closed sessions too."""
        path = f"/predict/{self.id}/outcome"
        return await self.connection.ask("PUT", path, json={"label": label})

    @Call
    async def outcome(self) -> Json:
        """Return the true label beside what was predicted when it was told."""
        return await self.connection.ask("GET", f"/predict/{self.id}/outcome")

    @Call
    async def erase(self) -> None:
        """Erase what was answered; the amounts stay in the ledger."""
        await self.connection.call("DELETE", f"/predict/{self.id}")
        await self.take("GET")

    async def send(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome],
        *,
        insist: bool = False,
    ) -> None:
        """Send answers with a value, and others without one."""
        wanted = body(values, outcomes, insist=insist)
        await self.take("POST", "/answers", json=wanted)

    async def take(self, method: str, path: str = "", **more: Any) -> None:
        """Send a request to the session, and take over how it stands then."""
        path = f"/predict/{self.id}{path}"
        self.raw = await self.connection.ask(method, path, **more)

    def next_question(
        self, last: tuple[int, QuestionT] | None, *, goes_on: bool
    ) -> tuple[int, QuestionT] | None:
        """Return the version and the question to ask; refuse to ask the last again."""
        version: int = self.raw["version"]
        if last is not None and last[0] == version:
            raise UnansweredError(
                f"answer the question for {last[1].feature}, say that it is "
                "unavailable, refused, unknown or ordered, or break"
            )
        question = self.question
        is_asked = question is not None and (goes_on or not self.should_stop)
        return (version, question) if question and is_asked else None


class PredictionSession(AnySession[Question], Waiting):
    """A session of a `Client`; `for question in session` yields what it asks."""

    question_kind = Question

    def __iter__(self) -> Iterator[Question]:
        return self.questions()

    def questions(self, *, goes_on: bool = False) -> Iterator[Question]:
        """Yield questions to answer; `goes_on` also past the advice to stop.

        Raises UnansweredError where nothing was answered to the last one.
        """
        asked = None
        while asked := self.next_question(asked, goes_on=goes_on):
            yield asked[1]


class AsyncPredictionSession(AnySession[AsyncQuestion], Awaited):
    """A session of an `AsyncClient`; `async for` yields what it asks."""

    question_kind = AsyncQuestion

    def __aiter__(self) -> AsyncIterator[AsyncQuestion]:
        return self.questions()

    async def questions(self, *, goes_on: bool = False) -> AsyncIterator[AsyncQuestion]:
        """Yield questions to answer; as of a `PredictionSession`."""
        asked = None
        while asked := self.next_question(asked, goes_on=goes_on):
            yield asked[1]
