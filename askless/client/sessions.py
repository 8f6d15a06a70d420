"""Sessions: their questions, answers, spend and predictions."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar, Unpack

from askless.client.connection import Connection, Json, select_known
from askless.client.links import Awaited, Call, Change, Waiting
from askless.client.problems import UnansweredError
from askless.client.questions import (
    AnyQuestion,
    AsyncQuestion,
    Flags,
    Outcome,
    Question,
    Value,
    build_answers,
    has_value,
    split_by_value,
)

QuestionT = TypeVar("QuestionT", bound=AnyQuestion)


class AnySession(Generic[QuestionT]):
    """A session about one case, as the service last reported it.

    Results that were `ordered` come in by `answer`, after the loop too.
    """

    question_kind: ClassVar[type[Any]]

    def __init__(self, connection: Connection, raw: Json) -> None:
        self.connection = connection
        self.raw = raw

    @property
    def id(self) -> str:
        """Id of the session, to continue it by."""
        return str(self.raw["id"])

    @property
    def state(self) -> str:
        """One of `open`, `waiting` and `closed`."""
        return str(self.raw["state"])

    @property
    def client_ref(self) -> str | None:
        """The caller's own name of the case."""
        client_ref: str | None = self.raw["client_ref"]
        return client_ref

    @property
    def warnings(self) -> list[Json]:
        """Doubts about the answers: `feature`, `kind` and `detail` of each."""
        warnings: list[Json] = self.raw["warnings"]
        return warnings

    @property
    def prediction(self) -> Json:
        """Label, display, probability, margin and classes, as of the last answer.

        Its `steps` are the effects of the answers, as in `explanation`.
        """
        prediction: Json = self.raw["prediction"]
        return prediction

    @property
    def explanation(self) -> list[str]:
        """Effect of each answer: `age raised the chance of disease from 12 to 18 %`."""
        steps: list[Json] = (self.raw["prediction"] or {}).get("steps", [])
        return [f"{step['feature']} {step['words']}" for step in steps]

    @property
    def spent(self) -> float:
        """Amount charged so far."""
        return float(self.raw["budget"]["spent"])

    @property
    def remaining(self) -> float | None:
        """Amount left of the budget; None where that is unlimited."""
        remaining = self.raw["budget"]["remaining"]
        return None if remaining is None else float(remaining)

    @property
    def answers(self) -> list[Json]:
        """All answers, the known values too."""
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
        """Reason to stop, in one word; None while there is none."""
        reason = self.raw["stop_reason"]
        return None if reason is None else str(reason)

    @property
    def stop_words(self) -> str | None:
        """The reason as a sentence, with what remains of the budget."""
        words: str | None = self.raw.get("stop_words")
        return words

    @property
    def question(self) -> QuestionT | None:
        """The next question; None where nothing is left to ask."""
        raw, kind = self.raw["question"], self.question_kind
        return None if raw is None else kind(self, **select_known(kind, raw))

    @property
    def label_set(self) -> list[str] | None:
        """Labels that hold the true one with the requested coverage; at the end."""
        labels: list[str] | None = self.prediction["label_set"]
        return labels

    @property
    def certificate(self) -> Json | None:
        """Say when the session stops early or why it never does, if requested."""
        certificate: Json | None = self.raw["certificate"]
        return certificate

    @Change
    async def answer(self, feature: str, value: Value, **flags: Unpack[Flags]) -> None:
        """Answer or correct any feature, not just the one that is asked.

        `insist` charges it although it can't change the prediction; `accept_unseen`
        takes a category that training did not see.
        """
        await self.send_answers({feature: value}, {}, **flags)

    @Change
    async def give(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome] | None = None,
        **flags: Unpack[Flags],
    ) -> None:
        """Send values, then outcomes without one, in one request: all or none."""
        await self.send_answers(values, outcomes or {}, **flags)

    @Call
    async def check(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome] | None = None,
        **flags: Unpack[Flags],
    ) -> Json:
        """Return what answers would charge and doubts about them; send none."""
        body = build_answers(values, outcomes, **flags)
        path = f"/predict/{self.id}/answers/check"
        return await self.connection.request_json("POST", path, json=body)

    @Change
    async def play(
        self,
        values: Mapping[str, Any],
        *,
        goes_on: bool = False,
        **flags: Unpack[Flags],
    ) -> None:
        """Answer all questions from a mapping, then all pending results.

        A row of the training's table will do, as `csv` or pandas reads it. Values that
        it lacks, empty texts, None and NaN are answered as unavailable, and so are
        texts that mean missing in that table.
        `goes_on` continues past the advice to stop; `flags` are those of `answer`.
        """
        flags["as_cells"] = any(isinstance(value, str) for value in values.values())
        while (question := self.question) and (goes_on or not self.should_stop):
            # The price of a bundle reveals all its features.
            is_known = has_value(values, question.feature)
            features = question.features if is_known else [question.feature]
            await self.send_answers(*split_by_value(values, features), **flags)
        if self.pending:
            await self.send_answers(*split_by_value(values, self.pending), **flags)

    @Change
    async def change_budget(self, budget: float | None) -> None:
        """Raise or lower what may be charged in all; None: unlimited."""
        await self.update("PATCH", json={"budget": budget})

    @Change
    async def change_aim(self, aim: Mapping[str, float] | None) -> None:
        """Change the target for the average session; None: spend all of the budget."""
        await self.update("PATCH", json={"aim": None if aim is None else dict(aim)})

    @Change
    async def stop(self) -> None:
        """End the session; pending results are still taken."""
        await self.update("POST", "/stop")

    @Change
    async def refresh(self) -> None:
        """Read the session's state from the service again."""
        await self.update("GET")

    @Call
    async def ledger(self) -> list[Json]:
        """List the session's charges and reversals, oldest first."""
        return await self.connection.list_items(f"/predict/{self.id}/ledger")

    @Call
    async def tell_outcome(self, label: str) -> Json:
        """Record the true label of the case, or correct it; closed sessions too."""
        path = f"/predict/{self.id}/outcome"
        return await self.connection.request_json("PUT", path, json={"label": label})

    @Call
    async def outcome(self) -> Json:
        """Return the true label beside the prediction at the time it was recorded."""
        return await self.connection.request_json("GET", f"/predict/{self.id}/outcome")

    @Call
    async def erase(self) -> None:
        """Erase all answers; the amounts stay in the ledger."""
        await self.connection.request("DELETE", f"/predict/{self.id}")
        await self.update("GET")

    async def send_answers(
        self,
        values: Mapping[str, Value],
        outcomes: Mapping[str, Outcome],
        **flags: Unpack[Flags],
    ) -> None:
        """Send answers with a value, and others without one."""
        body = build_answers(values, outcomes, **flags)
        await self.update("POST", "/answers", json=body)

    async def update(self, method: str, path: str = "", **more: Any) -> None:
        """Send a request about the session, and keep the state in its response."""
        path = f"/predict/{self.id}{path}"
        self.raw = await self.connection.request_json(method, path, **more)

    def next_question(
        self, last: tuple[int, QuestionT] | None, *, goes_on: bool
    ) -> tuple[int, QuestionT] | None:
        """Return the version and the question to ask; refuse to ask the last again."""
        version: int = self.raw["version"]
        # Every answer changes the version: the last question got none.
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
        """Yield questions to answer; with `goes_on` also past the advice to stop.

        Raises UnansweredError where the last one got no answer.
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
        """Yield questions as `PredictionSession.questions` does."""
        asked = None
        while asked := self.next_question(asked, goes_on=goes_on):
            yield asked[1]
