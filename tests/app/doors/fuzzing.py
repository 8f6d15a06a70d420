"""Make messages up for a door, and check what must hold of each answer.

A message is a right one that is changed in a few places, any JSON of the door's words,
or any bytes. `FUZZ=5000` sends so many to each door, as `make test-fuzz` does.
"""

import copy
import json
import logging
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askless.app.store.database.engine import transaction

N_EXAMPLES = int(os.environ.get("FUZZ", 2 * settings.default.max_examples))
RAW = st.binary(max_size=200) | st.sampled_from((b"[" * 100_000, b"9" * 6000))
NUMBERS = st.integers(-(2**70), 2**70) | st.floats() | st.sampled_from((0, 1, 60))


class Right(NamedTuple):
    """A message that a door takes."""

    path: str
    body: Any
    #: bytes behind the JSON
    tail: bytes = b""
    #: where most changes are made
    within: tuple[str, ...] = ()


class Message(NamedTuple):
    """What is sent: `body` is None where `content` was never JSON."""

    path: str
    body: Any
    content: bytes
    tail: bytes
    #: what else a door draws, as headers
    more: Any


class Door(NamedTuple):
    """What a door is sent, and what its answers must be like."""

    opened: list[str]
    #: names of fields and texts that the door knows, among others
    names: tuple[str, ...]
    texts: tuple[str, ...]
    #: makes what messages are about; returns right ones
    prepare: Callable[[TestClient], list[Right]]
    #: sends a message; checks the form of the answer and returns it with whether
    #: the message was taken
    send: Callable[[TestClient, Message], tuple[Any, bool]]
    more: st.SearchStrategy[Any] = st.none()
    #: what is drawn besides in a message that is right
    usual: Any = None


def change(element: Any, way: list[int], value: Any, name: str) -> None:
    """Put a value somewhere into a document: instead of a part, or as one more."""
    for step, number in enumerate(way):
        keys = list(element) if isinstance(element, dict) else [*range(len(element))]
        is_last = step == len(way) - 1
        if not keys or (is_last and number % 3 == 0):
            if isinstance(element, dict):
                element[name] = value
            else:
                element.append(value)
            return
        key = keys[number % len(keys)]
        if is_last or not isinstance(element[key], dict | list):
            element[key] = value
            return
        element = element[key]


def messages_to(door: Door, right: list[Right]) -> st.SearchStrategy[Message]:
    names = st.sampled_from(door.names) | st.text(max_size=6)
    texts = st.sampled_from(door.texts) | st.text(max_size=8)
    values = st.recursive(
        texts | NUMBERS | st.booleans() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4)
        ),
        max_leaves=10,
    )
    ways = st.lists(st.integers(0, 30), min_size=1, max_size=7)
    changes = st.lists(st.tuples(ways, values, names), min_size=1, max_size=3)
    more = st.sampled_from((True, True, False)).flatmap(
        lambda is_usual: st.just(door.usual) if is_usual else door.more
    )

    @st.composite
    def messages(draw: Any) -> Message:
        path, body, tail, within = draw(st.sampled_from(right))
        kind = draw(st.sampled_from(("right", *["changed"] * 7, "any", "raw", "cut")))
        if kind == "raw":
            return Message(path, None, draw(RAW), tail, draw(more))
        if kind == "any":
            body = draw(values)
        elif kind == "changed":
            body = changed = copy.deepcopy(body)
            for key in within if draw(st.integers(0, 3)) else ():
                changed = changed[key]
            for way, value, name in draw(changes):
                change(changed, way, value, name)
        content = json.dumps(body).encode()
        if kind == "cut":
            content = content[: -draw(st.integers(1, 40))]
        return Message(path, body, content, tail, draw(more))

    return messages()


def count_charges(app: FastAPI) -> int:
    with transaction(app.state.engine, None, is_read=True) as db:
        return int(db.execute(sa.text("SELECT count(*) FROM ledger")).scalar() or 0)


def mistakes(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines of the log that report a failure, with what failed."""
    return [
        f"{record.name}: {record.getMessage()} {record.exc_info}"
        for record in caplog.records
        if record.levelno >= logging.ERROR or record.exc_info
    ]


def fuzz(
    door: Door, app: FastAPI, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Send messages: none fails the door, and none that is refused is charged."""
    right = door.prepare(client)
    for path, body, tail, _ in right:
        whole = Message(path, body, json.dumps(body).encode(), tail, door.usual)
        answer, _ = door.send(client, whole)
        # One after the other they may conflict; each is in a right form.
        assert answer.status_code in (200, 202, 409, 412), (body, answer.text)

    @settings(
        max_examples=N_EXAMPLES,
        deadline=None,
        database=None,
        derandomize=N_EXAMPLES < 1000,
        suppress_health_check=list(HealthCheck),
    )
    @given(messages_to(door, right))
    def send(message: Message) -> None:
        caplog.clear()
        n_charges = count_charges(app)

        answer, is_taken = door.send(client, message)

        assert "Traceback" not in answer.text
        assert '"/problems/internal"' not in answer.text.replace("\\", "")
        assert answer.status_code < 500, answer.text
        assert mistakes(caplog) == []
        assert is_taken or count_charges(app) == n_charges, answer.text

    send()
    check_books(client)


def check_books(client: TestClient) -> None:
    """Check that each session was charged once a feature, and as its ledger says."""
    for session in client.get("/predict?limit=200").json()["items"]:
        items = client.get(f"/predict/{session['id']}/ledger").json()["items"]
        assert len({entry["feature"] for entry in items}) == len(items)
        total = sum(entry["amount"] for entry in items)
        assert session["budget"]["spent"] == pytest.approx(total)
        assert total <= (session["budget"]["limit"] or 1e9)
