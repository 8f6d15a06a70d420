"""The Python client on a line that breaks: what is sent again, and what is told."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from askless.client import AsyncClient, Client
from askless.client.connection import parse_retry_after
from askless.client.jobs import TrainingProgress
from askless.client.problems import ProblemError, ServiceUnreachable, TrainingFailed
from askless.client.sessions import PredictionSession
from tests.askless.coins import SPEC, coins

Handler = Callable[[httpx.Request], httpx.Response]


def flaky(*answers: httpx.Response | Exception) -> tuple[Client, list[httpx.Request]]:
    """A client whose line gives these answers, one after the other."""
    left = list(answers)
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        request.read()
        requests.append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    transport = httpx.MockTransport(handle)
    made = Client("http://askless.test", transport=transport, first_wait_s=0, retries=3)
    return made, requests


def fail(error: Exception) -> Handler:
    def handle(_: httpx.Request) -> httpx.Response:
        raise error

    return handle


def session_json(version: int = 1) -> dict[str, Any]:
    return {"id": "ses_1", "version": version, "question": None, "pending": []}


def stream(*events: tuple[int, dict[str, Any]], retry: bool = True) -> httpx.Response:
    text = "".join(
        f"event: {data['state']}\ndata: {json.dumps(data)}\nid: {number}\n"
        + ("retry: 1000\n\n" if retry else "\n")
        for number, data in events
    )
    return httpx.Response(200, text=": ping\n\n" + text)


def running(share: float) -> dict[str, Any]:
    return {"state": "running", "progress": share}


DONE = {"state": "succeeded", "progress": 1.0, "model_id": "mdl_1"}
MODEL = {"id": "mdl_1", "name": "m", "version": 1, "training_id": "trn_1"}
LOST = httpx.ReadError("reset")
AWAY = httpx.ConnectError("refused")
UNAVAILABLE = {"type": "/problems/unavailable", "title": "Not now", "status": 503}


def test_answer_is_sent_again_until_it_arrives() -> None:
    client, requests = flaky(
        LOST, httpx.Response(503, json=UNAVAILABLE), httpx.Response(200, json={})
    )
    session = PredictionSession(client.connection, session_json())

    session.answer("age", 63)

    assert len(requests) == 3
    assert len({request.content for request in requests}) == 1


def test_line_that_stays_broken_raises_in_the_end() -> None:
    client, requests = flaky(LOST, LOST, LOST, LOST)

    with pytest.raises(ServiceUnreachable) as raised:
        client.models()

    assert len(requests) == 4
    assert raised.value.__cause__ is LOST
    assert raised.value.status == 0


def test_address_of_an_unreachable_service_is_named_without_its_password() -> None:
    transport = httpx.MockTransport(fail(AWAY))
    address = "http://me:secret@askless.test:8000/v"
    client = Client(address, key="ak_secret", transport=transport, retries=0)

    with pytest.raises(ServiceUnreachable) as raised:
        client.models()

    assert raised.value.address == "http://askless.test:8000/v/"
    assert "reached at http://askless.test:8000/v/: refused" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_client_that_awaits_raises_the_same() -> None:
    transport = httpx.MockTransport(fail(httpx.ReadTimeout("")))

    async def ask() -> None:
        async with AsyncClient("http://a.test", transport=transport, retries=0) as one:
            await one.models()

    with pytest.raises(ServiceUnreachable, match=r"at http://a\.test: ReadTimeout"):
        anyio.run(ask)


def test_service_that_stays_away_is_a_problem() -> None:
    client, _ = flaky(*(httpx.Response(503, json=UNAVAILABLE) for _ in range(4)))

    with pytest.raises(ProblemError) as refused:
        client.models()

    assert refused.value.type == "/problems/unavailable"


def test_refusal_is_not_sent_again() -> None:
    client, requests = flaky(httpx.Response(422, json={"title": "No", "errors": []}))

    with pytest.raises(ProblemError):
        client.predict("m")

    assert len(requests) == 1


@pytest.mark.parametrize("failure", [LOST, AWAY, "503"])
def test_upload_is_sent_again_whole_under_one_key(
    failure: Exception | str, tmp_path: Path
) -> None:
    first = failure if failure != "503" else httpx.Response(503, json=UNAVAILABLE)
    client, requests = flaky(first, httpx.Response(202, json={"id": "trn_1"}))

    client.start_training(coins(tmp_path), SPEC)

    table = coins(tmp_path).read_bytes()
    assert [table in request.content for request in requests] == [True, True]
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1


def test_each_post_has_a_key_of_its_own_and_nothing_else_has_one() -> None:
    answers = [httpx.Response(200, json=session_json()) for _ in range(3)]
    client, requests = flaky(*answers)

    client.predict("m").stop().refresh()

    posts, gets = requests[:2], requests[2:]
    assert len({post.headers["Idempotency-Key"] for post in posts}) == 2
    assert "Idempotency-Key" not in gets[0].headers


def test_too_many_requests_are_sent_when_the_service_says() -> None:
    later = httpx.Response(429, json={"title": "Slow"}, headers={"Retry-After": "0"})
    client, requests = flaky(later, httpx.Response(200, json=MODEL | WHEN))

    client.model("mdl_1")

    assert len(requests) == 2


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "3600"}])
def test_limit_that_does_not_pass_soon_is_a_problem(headers: dict[str, str]) -> None:
    limited = httpx.Response(429, json={"title": "Slow"}, headers=headers)
    client, requests = flaky(limited)

    with pytest.raises(ProblemError, match="Slow"):
        client.model("mdl_1")

    assert len(requests) == 1


def test_deletion_that_had_worked_is_no_problem_when_sent_again() -> None:
    gone = {"type": "/problems/not-found", "title": "None", "status": 404}
    client, _ = flaky(
        LOST, httpx.Response(404, json=gone), httpx.Response(404, json=gone)
    )

    client.delete_model("mdl_1")

    with pytest.raises(ProblemError):
        client.delete_model("mdl_1")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-1", None),
    ],
)
def test_wish_to_wait_is_read(text: str, seconds: float | None) -> None:
    response = httpx.Response(429, headers={"Retry-After": text})

    assert parse_retry_after(response) == seconds


KEY = "askl_7d1e0f2a_verysecret"


def test_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLESS_API_KEY", KEY)
    client, requests = flaky(httpx.Response(401, json={"title": "No"}), AWAY)
    other = Client("http://askless.test", key="askl_other_key")

    with pytest.raises(ProblemError) as refused:
        client.models()

    assert requests[0].headers["Authorization"] == f"Bearer {KEY}"
    shown = [refused.value, vars(refused.value), client, client.connection, other]
    assert [one for one in map(repr, shown) if "verysecret" in one] == []


@pytest.mark.parametrize("key", ["two words", "späß", "line\n"])
def test_key_that_is_none_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as refused:
        Client("http://askless.test", key=key)

    assert key not in str(refused.value)


def test_id_that_is_none_names_nothing_else() -> None:
    gone = {"type": "/problems/not-found", "title": "None", "status": 404}
    client, requests = flaky(httpx.Response(404, json=gone))

    with pytest.raises(ProblemError):
        client.card("x/curve?budget=1")

    assert requests[0].url.raw_path == b"/models/x%2Fcurve%3Fbudget%3D1"


def test_wrong_address_is_not_tried_again() -> None:
    client, requests = flaky(httpx.UnsupportedProtocol("no scheme"))

    with pytest.raises(httpx.UnsupportedProtocol):
        client.models()

    assert len(requests) == 1


def test_broken_stream_goes_on_after_its_last_event() -> None:
    first = stream((1, running(0.1)), (2, running(0.5)))
    client, requests = flaky(
        first, LOST, stream((3, DONE)), httpx.Response(200, json=MODEL | WHEN)
    )
    told: list[TrainingProgress] = []

    client.follow("trn_1", told.append)

    after = [request.headers.get("last-event-id") for request in requests[:3]]
    assert after == [None, "2", "2"]
    assert [one.share for one in told] == [0.1, 0.5, 1.0]


WHEN = {"created_at": "2026-11-20T09:30:00Z"}


def test_stream_that_never_says_anything_raises() -> None:
    client, _ = flaky(*(stream() for _ in range(4)))

    with pytest.raises(ServiceUnreachable, match="the stream ends early"):
        client.follow("trn_1")


def test_ended_stream_is_made_good_by_the_training_itself() -> None:
    first, ended = stream((1, running(0.1))), httpx.Response(204)
    training = httpx.Response(200, json=DONE)
    client, requests = flaky(
        first, ended, training, httpx.Response(200, json=MODEL | WHEN)
    )

    assert client.follow("trn_1").name == "m"
    assert requests[2].url.path == "/train/trn_1"


def test_failed_training_raises_its_problem() -> None:
    problem = {"type": "/problems/worker-lost", "title": "Died", "detail": "Thrice."}
    failed = {"state": "failed", "progress": 0.2, "error": problem}
    client, _ = flaky(stream((1, failed)))

    with pytest.raises(TrainingFailed, match="Thrice") as ended:
        client.follow("trn_1")

    assert ended.value.problem == problem


def test_answer_of_something_else_than_the_service_is_a_problem() -> None:
    client, _ = flaky(httpx.Response(418, text="<html>"))

    with pytest.raises(ProblemError, match=re.escape("I'm a teapot (418)")):
        client.models()


def test_lists_are_read_to_their_end() -> None:
    client, requests = flaky(
        httpx.Response(200, json={"items": [MODEL | WHEN], "next": "mdl_1"}),
        httpx.Response(200, json={"items": [MODEL | WHEN], "next": None}),
    )

    found = client.models()

    assert len(found) == 2
    assert requests[1].url.params["after"] == "mdl_1"


def test_new_fields_of_an_answer_are_passed_over() -> None:
    client, _ = flaky(httpx.Response(200, json=MODEL | WHEN | {"colour": "red"}))

    assert client.model("mdl_1").name == "m"


def test_aim_is_sent_with_a_session_and_changed_in_it() -> None:
    client, requests = flaky(
        httpx.Response(201, json=session_json()), httpx.Response(200, json={})
    )

    client.predict("mdl_1", aim={"mean_budget": 75}).change_aim(None)

    sent = [json.loads(request.content) for request in requests]
    assert sent[0]["aim"] == {"mean_budget": 75}
    assert sent[1] == {"aim": None}
