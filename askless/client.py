"""A client of the HTTP interface, for Python: trainings, models, sessions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx

from askless.connection import Connection, Json, known_fields, plain
from askless.problems import TrainingFailed
from askless.sessions import PredictionSession, Value

# The service closes connections that are silent for 5 s: none may be used just then.
IDLE_S = 2.0


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
        http = httpx.Client(
            base_url=base_url,
            timeout=timeout,
            transport=transport,
            limits=httpx.Limits(keepalive_expiry=IDLE_S),
        )
        self.connection = Connection(http, timeout, retries, first_wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; sessions stay open on the service."""
        self.connection.http.close()

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
        """Upload a table (CSV or Parquet) and its spec; return the training's id."""
        table = Path(path)
        text = spec_bytes(spec)
        with table.open("rb") as stream:

            def rewound() -> Any:
                stream.seek(0)
                return {
                    "dataset": (table.name, stream, "application/octet-stream"),
                    "spec": ("spec.json", text, "application/json"),
                }

            started = self.connection.call(
                "POST", "/train", files=rewound, is_repeatable=False
            )
        return str(started.json()["id"])

    def follow(
        self,
        training_id: str,
        on_progress: Callable[[TrainingProgress], None] | None = None,
    ) -> StoredModel:
        """Wait for a training's model; where the stream breaks, go on after it."""
        for data in self.connection.events(training_id):
            if on_progress is not None:
                progress = data.get("part"), data.get("round")
                share = float(data["progress"])
                state = str(data["state"])
                on_progress(TrainingProgress(training_id, state, share, *progress))
            if data["state"] in ("failed", "cancelled"):
                error = data.get("error") or {}
                raise TrainingFailed(training_id, data["state"], error)
        return self.model(data["model_id"])

    def cancel(self, training_id: str) -> Json:
        """Stop a training; what it has learnt so far is lost."""
        return self.connection.ask(
            "POST", f"/train/{training_id}/cancel", is_repeatable=False
        )

    def models(self) -> list[StoredModel]:
        """List all models, newest first."""
        return [stored_model(raw) for raw in self.connection.pages("/models")]

    def model(self, model: str | StoredModel) -> StoredModel:
        """Return one model."""
        return stored_model(self.connection.ask("GET", f"/models/{id_of(model)}"))

    def card(self, model: str | StoredModel) -> Json:
        """Return a model's catalogue and card."""
        return self.connection.ask("GET", f"/models/{id_of(model)}")

    def curve(self, model: str | StoredModel) -> Json:
        """Return error and spend against budget, from held-out rows."""
        return self.connection.ask("GET", f"/models/{id_of(model)}/curve")

    def plan(self, model: str | StoredModel, budget: float | None = None) -> Json:
        """Return the purchases that a budget allows, in order; None: unlimited."""
        params = {} if budget is None else {"budget": json.dumps(budget)}
        return self.connection.ask("GET", f"/models/{id_of(model)}/plan", params=params)

    def export(self, model: str | StoredModel) -> bytes:
        """Return MODEL.json, byte for byte as the service has it."""
        return self.connection.call("GET", f"/models/{id_of(model)}/export").content

    def import_model(self, document: bytes | Path) -> StoredModel:
        """Store a MODEL.json as the next version of its name."""
        text = document.read_bytes() if isinstance(document, Path) else document
        return stored_model(
            self.connection.ask(
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
        policy: str | None = None,
        seed: int | None = None,
        stop: Mapping[str, Any] | None = None,
        prices: Mapping[str, Any] | None = None,
        coverage: float | None = None,
        aim: Mapping[str, float] | None = None,
    ) -> PredictionSession:
        """Open a session. `model` is an id or a name; `budget` None is unlimited.

        `prices` is a price list, such as {"costs": {"chol": 9.5}, "groups": [{"name":
        "blood", "fee": 2.5}]}; by default the model's own. `aim` is one of
        {"mean_budget": 75}, {"wanted_error": 0.15} and {"error_price": 500}.

        Should the connection break, a second session may be opened: nobody answers
        the first, it costs nothing and expires.
        """
        wish: Json = {"model": id_of(model), "budget": budget}
        if known:
            wish["known"] = {name: plain(value) for name, value in known.items()}
        more: Json = {"policy": policy, "seed": seed, "stop": stop and dict(stop)}
        more["prices"] = None if prices is None else dict(prices)
        more |= {"coverage": coverage, "aim": None if aim is None else dict(aim)}
        wish |= {name: value for name, value in more.items() if value is not None}
        return PredictionSession(
            self.connection, self.connection.ask("POST", "/predict", json=wish)
        )

    def session(self, session_id: str) -> PredictionSession:
        """Take up a session that was opened before."""
        return PredictionSession(
            self.connection, self.connection.ask("GET", f"/predict/{session_id}")
        )


def stored_model(raw: Json) -> StoredModel:
    """Read a model from its document."""
    return StoredModel(**known_fields(StoredModel, raw))


def id_of(model: str | StoredModel) -> str:
    """Return what an address calls a model."""
    return model.id if isinstance(model, StoredModel) else model


def spec_bytes(spec: Mapping[str, Any] | str | Path) -> bytes:
    """Return a spec as it is sent."""
    if isinstance(spec, str | Path):
        return Path(spec).read_bytes()
    return json.dumps(spec, allow_nan=False).encode()
