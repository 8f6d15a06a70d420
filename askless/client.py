"""A client of the HTTP interface, for Python: trainings, models, sessions.

What broke on the way is sent again where that can't be done twice: everything but
uploads, imports and the like, which are repeated only if they never arrived.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import httpx

Json = dict[str, Any]
Value = bool | int | float | str
Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]
Policy = Literal["ordered", "sample", "cascade"]

RETRIED_STATUSES = (502, 503, 504)
NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LONGEST_WAIT_S = 5.0
# Open streams say something every 15 s: after this silence the connection is dead.
STREAM_SILENCE_S = 45.0
# The answer to an upload comes when the whole table is read and checked.
UPLOAD_TIMEOUT_S = 600.0
FINAL_STATES = ("succeeded", "failed", "cancelled")
PAGE = 200


class ProblemError(Exception):
    """The service said no; `problem` is its whole problem document (RFC 9457)."""

    def __init__(self, problem: Json, status: int) -> None:
        self.problem = problem
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", "The request failed"))
        self.status = status
        self.detail = problem.get("detail")
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        self.request_id = problem.get("request_id")
        super().__init__(f"{self.title} ({status}): {self.detail or self.type}")


class TrainingFailed(Exception):  # noqa: N818 - reads as the state it reports
    """A training ended without a model; `problem` says why (cancelled: empty)."""

    def __init__(self, training_id: str, state: str, problem: Json) -> None:
        self.training_id = training_id
        self.state = state
        self.problem = problem
        reason = problem.get("detail", "no reason is given")
        super().__init__(f"training {training_id} has {state}: {reason}")


class UnansweredError(Exception):
    """A loop went on without having answered its question."""


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training is: `share` from 0 to 1; `part` counts folds and the whole."""

    training_id: str
    state: str
    share: float
    part: int | None = None
    round: int | None = None


@dataclass(frozen=True)
class StoredModel:
    """A model of the service, as lists show it."""

    id: str
    name: str
    version: int
    training_id: str | None
    created_at: str


class Client:
    """Talks to one service. Use it as a context manager, or close it."""

    def __init__(
        self,
        base_url: str,
        timeout: float = 30.0,
        *,
        retries: int = 8,
        first_wait_s: float = 0.2,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.timeout = timeout
        self.retries = retries
        self.first_wait_s = first_wait_s
        self.http = httpx.Client(
            base_url=base_url, timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    def train(
        self,
        path: str | Path,
        spec: Mapping[str, Any] | str | Path,
        on_progress: Callable[[TrainingProgress], None] | None = None,
    ) -> StoredModel:
        """Upload a table and its spec, wait for the model.

        Raises ProblemError where they are refused, TrainingFailed where no model came
        of it. An exception here, Ctrl+C too, does not stop the service: `cancel` does.
        """
        return self.follow(self.start_training(path, spec), on_progress)

    def start_training(
        self, path: str | Path, spec: Mapping[str, Any] | str | Path
    ) -> str:
        """Upload a table (CSV or Parquet) and its spec; give the training's id."""
        table = Path(path)
        text = spec_bytes(spec)
        with ExitStack() as opened:
            stream = opened.enter_context(table.open("rb"))

            def rewound() -> Any:
                stream.seek(0)
                return {
                    "dataset": (table.name, stream, "application/octet-stream"),
                    "spec": ("spec.json", text, "application/json"),
                }

            started = self.call("POST", "/train", files=rewound, is_repeatable=False)
        return str(started.json()["id"])

    def follow(
        self,
        training_id: str,
        on_progress: Callable[[TrainingProgress], None] | None = None,
    ) -> StoredModel:
        """Wait for a training's model; where the stream breaks, go on after it."""
        for data in self.events(training_id):
            if on_progress is not None:
                progress = data.get("part"), data.get("round")
                share = float(data["progress"])
                state = str(data["state"])
                on_progress(TrainingProgress(training_id, state, share, *progress))
            if data["state"] in ("failed", "cancelled"):
                error = data.get("error") or {}
                raise TrainingFailed(training_id, data["state"], error)
        return self.model(data["model_id"])

    def events(self, training_id: str) -> Iterator[Json]:
        """Yield what happens to a training, each event once, to its end."""
        last_id, tries = "", 0
        while True:
            failure: Exception = httpx.RemoteProtocolError("the stream ends early")
            try:
                for event_id, data in self.stream(training_id, last_id):
                    last_id, tries = event_id, 0
                    yield data
                    if data["state"] in FINAL_STATES:
                        return
            except httpx.TransportError as error:
                failure = error
            except ProblemError as error:
                if error.status not in RETRIED_STATUSES:
                    raise
                failure = error
            tries += 1
            if tries > self.retries:
                raise failure
            self.wait(tries)

    def stream(self, training_id: str, last_id: str) -> Iterator[tuple[str, Json]]:
        """Yield ids and data of the events after one, over one connection."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        timeout = httpx.Timeout(self.timeout, read=STREAM_SILENCE_S)
        path = f"/train/{training_id}/events"
        with self.http.stream("GET", path, headers=headers, timeout=timeout) as got:
            if not got.is_success:
                got.read()
                raise problem_of(got)
            yield from parse_events(got.iter_lines())

    def cancel(self, training_id: str) -> Json:
        """Stop a training; what it has learnt so far is lost."""
        return self.ask("POST", f"/train/{training_id}/cancel", is_repeatable=False)

    def models(self) -> list[StoredModel]:
        """List all models, newest first."""
        return [stored_model(raw) for raw in self.pages("/models")]

    def model(self, model: str | StoredModel) -> StoredModel:
        return stored_model(self.ask("GET", f"/models/{id_of(model)}"))

    def card(self, model: str | StoredModel) -> Json:
        """Give a model's catalogue and card."""
        return self.ask("GET", f"/models/{id_of(model)}")

    def curve(self, model: str | StoredModel) -> Json:
        """Give error and spend against budget, from held-out rows."""
        return self.ask("GET", f"/models/{id_of(model)}/curve")

    def plan(self, model: str | StoredModel, budget: float | None = None) -> Json:
        """Give the purchases that a budget allows, in order; None: unlimited."""
        params = {} if budget is None else {"budget": json.dumps(budget)}
        return self.ask("GET", f"/models/{id_of(model)}/plan", params=params)

    def export(self, model: str | StoredModel) -> bytes:
        """Give MODEL.json, byte for byte as the service has it."""
        return self.call("GET", f"/models/{id_of(model)}/export").content

    def import_model(self, document: bytes | Path) -> StoredModel:
        """Store a MODEL.json as the next version of its name."""
        text = document.read_bytes() if isinstance(document, Path) else document
        return stored_model(
            self.ask(
                "POST",
                "/models",
                content=text,
                headers={"Content-Type": "application/json"},
                is_repeatable=False,
            )
        )

    def predict(
        self,
        model: str | StoredModel,
        budget: float | None = None,
        known: Mapping[str, Value] | None = None,
        policy: Policy | None = None,
        seed: int | None = None,
        stop: Mapping[str, Any] | None = None,
    ) -> "PredictionSession":
        """Open a session. `model` is an id or a name; `budget` None is unlimited.

        Should the connection break, a second session may be opened: nobody answers
        the first, it costs nothing and expires.
        """
        wish: Json = {"model": id_of(model), "budget": budget}
        if known:
            wish["known"] = {name: plain(value) for name, value in known.items()}
        more = {"policy": policy, "seed": seed, "stop": stop and dict(stop)}
        wish |= {name: value for name, value in more.items() if value is not None}
        return PredictionSession(self, self.ask("POST", "/predict", json=wish))

    def session(self, session_id: str) -> "PredictionSession":
        """Take up a session that was opened before."""
        return PredictionSession(self, self.ask("GET", f"/predict/{session_id}"))

    def pages(self, path: str) -> Iterator[Json]:
        """Yield the items of a list, page by page."""
        after: str | None = None
        while True:
            params = {"limit": PAGE} | ({} if after is None else {"after": after})
            page = self.ask("GET", path, params=params)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def ask(self, method: str, path: str, **more: Any) -> Json:
        answer: Json = self.call(method, path, **more).json()
        return answer

    def call(
        self,
        method: str,
        path: str,
        *,
        is_repeatable: bool = True,
        files: Callable[[], Any] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Send a request, again if that is safe and the connection or service failed.

        Raises ProblemError, or httpx.TransportError once all tries are used up.
        """
        if files is not None:
            more["timeout"] = httpx.Timeout(self.timeout, read=UPLOAD_TIMEOUT_S)
        tries = 0
        while True:
            tries += 1
            is_last = tries > self.retries
            sent = more if files is None else more | {"files": files()}
            try:
                response = self.http.request(method, path, **sent)
            except httpx.TransportError as error:
                if is_last or not (is_repeatable or isinstance(error, NEVER_ARRIVED)):
                    raise
                self.wait(tries)
                continue
            if response.is_success:
                return response
            is_passing = is_repeatable and response.status_code in RETRIED_STATUSES
            if is_last or not is_passing:
                raise problem_of(response)
            self.wait(tries)

    def wait(self, tries: int) -> None:
        time.sleep(min(self.first_wait_s * 2 ** (tries - 1), LONGEST_WAIT_S))


class PredictionSession:
    """One case: yields questions until nothing is left to ask or none is worth it.

    Results that were `ordered` come in by `answer`, after the loop too.
    """

    def __init__(self, client: Client, raw: Json) -> None:
        self.client = client
        self.raw = raw

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def state(self) -> str:
        return str(self.raw["state"])

    @property
    def prediction(self) -> Json:
        """Label, display, probability, margin and classes, as of the last answer."""
        prediction: Json = self.raw["prediction"]
        return prediction

    @property
    def spent(self) -> float:
        return float(self.raw["budget"]["spent"])

    @property
    def remaining(self) -> float | None:
        """What is left of the budget; None where that is unlimited."""
        remaining = self.raw["budget"]["remaining"]
        return None if remaining is None else float(remaining)

    @property
    def answers(self) -> list[Json]:
        answers: list[Json] = self.raw["answers"]
        return answers

    @property
    def pending(self) -> list[str]:
        """Features that are paid and whose results are to come."""
        return list(self.raw["pending"])

    @property
    def should_stop(self) -> bool:
        return bool(self.raw["should_stop"])

    @property
    def stop_reason(self) -> str | None:
        reason = self.raw["stop_reason"]
        return None if reason is None else str(reason)

    @property
    def question(self) -> "Question | None":
        raw = self.raw["question"]
        return None if raw is None else Question(self, **known_fields(Question, raw))

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
        """Give values, then outcomes without one, in one request: all or none."""
        answers: list[Json] = [
            {"feature": name, "outcome": "value", "value": plain(value)}
            for name, value in values.items()
        ]
        answers += [
            {"feature": name, "outcome": outcome}
            for name, outcome in (outcomes or {}).items()
        ]
        return self.change("answers", json={"answers": answers})

    def stop(self) -> Self:
        """End the session; pending results are still taken."""
        return self.change("stop")

    def refresh(self) -> Self:
        self.raw = self.client.ask("GET", f"/predict/{self.id}")
        return self

    def ledger(self) -> list[Json]:
        """List the session's charges and reversals, oldest first."""
        return list(self.client.pages(f"/predict/{self.id}/ledger"))

    def erase(self) -> None:
        """Erase what was answered; the amounts stay in the ledger."""
        self.client.call("DELETE", f"/predict/{self.id}")
        self.refresh()

    def change(self, action: str, **more: Any) -> Self:
        self.raw = self.client.ask("POST", f"/predict/{self.id}/{action}", **more)
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
        self.session.give({self.feature: value})

    def ordered(self) -> None:
        """Pay now; the result comes later, by the session's `answer`."""
        self.say("ordered")

    def unavailable(self) -> None:
        self.say("unavailable")

    def refused(self) -> None:
        self.say("refused")

    def unknown(self) -> None:
        self.say("unknown")

    def say(self, outcome: Outcome) -> None:
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
        value = self.values.get(feature)
        return value is not None and not (
            isinstance(value, float) and math.isnan(value)
        )


def parse_events(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    """Give id and data of each event of a stream that is whole."""
    event_id, data = "", ""
    for line in lines:
        name, _, text = line.partition(":")
        text = text.removeprefix(" ")
        if name == "id":
            event_id = text
        elif name == "data":
            data += text
        elif not line and data:
            yield event_id, json.loads(data)
            data = ""


def problem_of(response: httpx.Response) -> ProblemError:
    """Read a problem document; whatever else answered has at least a status."""
    try:
        raw = response.json()
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        raw = {"title": response.reason_phrase or "The request failed"}
    return ProblemError(raw, response.status_code)


def stored_model(raw: Json) -> StoredModel:
    return StoredModel(**known_fields(StoredModel, raw))


def known_fields(kind: Any, raw: Json) -> Json:
    """Pick what a value has fields for: the service may have come to say more."""
    return {one.name: raw[one.name] for one in fields(kind) if one.name in raw}


def id_of(model: str | StoredModel) -> str:
    return model.id if isinstance(model, StoredModel) else model


def plain(value: Any) -> Any:
    """Turn numpy's numbers into Python's."""
    return value.item() if hasattr(value, "item") else value


def spec_bytes(spec: Mapping[str, Any] | str | Path) -> bytes:
    if isinstance(spec, str | Path):
        return Path(spec).read_bytes()
    return json.dumps(spec, allow_nan=False).encode()
