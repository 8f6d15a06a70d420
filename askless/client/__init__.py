"""Clients of the HTTP interface, for programs that wait and for those that await."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import httpx

from askless.client.challenges import ChallengeCalls
from askless.client.connection import Connection, Json, join_path, to_python
from askless.client.datasets import DatasetCalls
from askless.client.jobs import JobCalls
from askless.client.keys import KeyCalls
from askless.client.ledger import LedgerCalls
from askless.client.links import Awaited, AwaitedLink, Call, Link, Waiting, WaitingLink
from askless.client.providers import ProviderCalls
from askless.client.questions import Value
from askless.client.sessions import AsyncPredictionSession, PredictionSession
from askless.stored_models import ModelCalls, StoredModel, model_ref

# The service closes connections that are silent for 5 s: none may be used just then.
IDLE_S = 2.0
KEY_VARIABLE = "ASKLESS_API_KEY"

SessionT = TypeVar("SessionT", PredictionSession, AsyncPredictionSession)


class AnyClient(
    DatasetCalls,
    ModelCalls,
    ChallengeCalls,
    JobCalls,
    LedgerCalls,
    ProviderCalls,
    KeyCalls,
    Generic[SessionT],
):
    """Base of both clients: all calls of the service, over a link of either kind."""

    session_kind: ClassVar[type[Any]]
    http_kind: ClassVar[type[Any]]
    link_kind: ClassVar[type[Any]]

    def __init__(
        self,
        base_url: str,
        timeout: float = 30.0,
        *,
        key: str | None = None,
        retries: int = 8,
        first_wait_s: float = 0.2,
        transport: Any = None,
    ) -> None:
        options: dict[str, Any] = {
            "base_url": base_url,
            "timeout": timeout,
            "transport": transport,
            "limits": httpx.Limits(keepalive_expiry=IDLE_S),
            "headers": build_headers(
                os.environ.get(KEY_VARIABLE) if key is None else key
            ),
        }
        http = self.http_kind(**options)
        link: Link = self.link_kind(http)
        address = str(http.base_url.copy_with(userinfo=b""))
        self.connection = Connection(link, address, timeout, retries, first_wait_s)
        self.base_url = base_url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    @Call
    async def close(self) -> None:
        """Close the connection; sessions stay open on the service."""
        await self.connection.link.close()

    @Call
    async def predict(
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
        client_ref: str | None = None,
        *,
        accept_unseen: bool = False,
        explore: float | None = None,
    ) -> SessionT:
        """Open a session. `model` is an id or a name; `budget` None is unlimited.

        `prices` is a price list, such as {"costs": {"chol": 9.5}, "groups": [{"name":
        "blood", "fee": 2.5}]}; by default the model's own. `aim` is one of
        {"mean_budget": 75}, {"wanted_error": 0.15} and {"error_price": 500}.
        `client_ref` is your own name of the case; `sessions` filters by it.
        `accept_unseen` takes known categories that training did not see. `explore` is
        the chance before each question that another one, drawn at random, is asked.
        """
        body: Json = {"model": model_ref(model), "budget": budget}
        if known:
            body["known"] = {name: to_python(value) for name, value in known.items()}
        more: Json = {"policy": policy, "seed": seed, "stop": stop and dict(stop)}
        more["prices"] = None if prices is None else dict(prices)
        more |= {"coverage": coverage, "aim": None if aim is None else dict(aim)}
        more |= {"explore": explore}
        more |= {"client_ref": client_ref, "accept_unseen": accept_unseen or None}
        body |= {name: value for name, value in more.items() if value is not None}
        raw = await self.connection.request_json("POST", "/predict", json=body)
        session: SessionT = self.session_kind(self.connection, raw)
        return session

    @Call
    async def session(self, session_id: str) -> SessionT:
        """Continue a session that was opened before."""
        raw = await self.connection.request_json(
            "GET", join_path("predict", session_id)
        )
        session: SessionT = self.session_kind(self.connection, raw)
        return session

    @Call
    async def sessions(
        self,
        state: str | None = None,
        model: str | StoredModel | None = None,
        client_ref: str | None = None,
    ) -> list[Json]:
        """List sessions, newest first: their state and spend, without their answers."""
        name = None if model is None else model_ref(model)
        return await self.connection.list_items(
            "/predict", state=state, model=name, client_ref=client_ref
        )


class Client(AnyClient[PredictionSession], Waiting):
    """A blocking client of one service.

    Use it as a context manager, or close it. `key` is an API key, by default the
    variable ASKLESS_API_KEY; without one no key is sent. Requests that fail on the way
    are sent again, `retries` times: first after `first_wait_s`, then later, or when the
    service says.
    """

    session_kind, http_kind, link_kind = PredictionSession, httpx.Client, WaitingLink

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(AnyClient[AsyncPredictionSession], Awaited):
    """A `Client` whose calls, sessions and questions are awaited."""

    session_kind = AsyncPredictionSession
    http_kind, link_kind = httpx.AsyncClient, AwaitedLink

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def build_headers(key: str | None) -> dict[str, str]:
    """Return the headers of all requests; ValueError for a malformed key."""
    if not key:
        return {}
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("key: must be an API key, as `askless keys create` printed it")
    return {"Authorization": f"Bearer {key}"}
