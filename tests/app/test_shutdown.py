"""A server that is told to end under load: what it has taken it answers."""

import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from askless.app.processes.ports import bind_port
from askless.app.server import Server, serve
from askless.app.settings.settings import Settings
from askless.app.store.ledger import ledger
from tests.app.clinic import clinic, model_json, said
from tests.app.jobs import wait
from tests.app.servers import CONTEXT

pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
ASKED = b'{"model": "clinic", "budget": 60}'


@dataclass
class Caller:
    """One client that plays a session after another until nobody is there."""

    url: str
    taken: int = 0
    odd: list[str] = field(default_factory=list)

    def play(self) -> None:
        answer = {"answers": [said("chol", 233)]}
        with httpx.Client(base_url=self.url, timeout=600, trust_env=False) as http:
            try:
                while True:
                    asked = {"model": "clinic", "budget": 60}
                    session = http.post("/predict", json=asked)
                    path = f"/predict/{session.json()['id']}/answers"
                    response = http.post(path, json=answer)
                    if response.status_code != 200:
                        self.odd.append(response.text)
                    self.taken += 1
            except httpx.TransportError:
                return


@pytest.fixture
def drain_s() -> float:
    return 0.0


@pytest.fixture
def address(settings: Settings, drain_s: float) -> Iterator[tuple[str, Any]]:
    """Serve as the command does, without a worker."""
    settings = settings.model_copy(update={"drain_s": drain_s})
    bound = bind_port("127.0.0.1", 0)
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    # However busy the machine is, it has time to answer.
    switch = {"children": {}, "grace_s": 600}
    process = CONTEXT.Process(target=serve, args=(settings, bound), kwargs=switch)
    process.start()
    bound.close()
    yield url, process
    process.kill()
    process.join()


def create_model(url: str) -> None:
    """Create the model `clinic`, as soon as the server answers."""
    httpx.post(
        f"{url}/models",
        json=model_json(clinic(), "clinic"),
        timeout=600,
        trust_env=False,
    ).raise_for_status()


@pytest.mark.slow
def test_every_answer_that_is_charged_is_given(
    address: tuple[str, Any], engine: sa.Engine
) -> None:
    url, process = address
    create_model(url)
    callers = [Caller(url) for _ in range(4)]
    threads = [threading.Thread(target=caller.play) for caller in callers]
    for thread in threads:
        thread.start()
    wait(lambda: sum(caller.taken for caller in callers) > 20)

    process.terminate()
    process.join(600)
    for thread in threads:
        thread.join(600)

    assert process.exitcode == 0
    assert [caller.odd for caller in callers] == [[]] * 4
    with engine.connect() as connection:
        n_charged = connection.scalar(sa.select(sa.func.count()).select_from(ledger))
    assert n_charged == sum(caller.taken for caller in callers)


def begin_request(url: str) -> HTTPConnection:
    """Send all of a request but its body, and wait until the server asks for that."""
    asked = HTTPConnection(url.removeprefix("http://"), timeout=600)
    asked.putrequest("POST", "/predict")
    asked.putheader("Content-Type", "application/json")
    asked.putheader("Content-Length", str(len(ASKED)))
    asked.putheader("Expect", "100-continue")
    asked.endheaders()
    assert b"100 Continue" in asked.sock.recv(1_000)
    return asked


def readiness(url: str) -> int | None:
    """Return the status of `/readyz`; None where nobody listens any more."""
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).status_code
    except httpx.TransportError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize(("drain_s", "told"), [(3_600.0, 503), (0.0, None)])
def test_server_that_ends_is_not_ready_and_finishes_what_it_has_begun(
    address: tuple[str, Any], told: int | None
) -> None:
    url, process = address
    create_model(url)
    wait(lambda: readiness(url) == 200)
    with closing(begin_request(url)) as asked:
        process.terminate()
        wait(lambda: readiness(url) == told)
        # This ends the draining, where there is one.
        process.terminate()
        asked.send(ASKED)
        with asked.getresponse() as response:
            answered = response.status
    process.join(600)

    assert (answered, process.exitcode) == (201, 0)


class Holder:
    """What the server finds at its application: settings and what it is told."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.draining = self.stopping = False


def told(settings: Settings) -> tuple[Server, Any]:
    class Held:
        state = Holder(settings)

    class Plain:
        app = Held

    return Server(Plain), Held.state  # type: ignore[arg-type]  # all of it that is read


def test_server_that_drains_serves_on_until_its_time_or_a_second_signal(
    settings: Settings,
) -> None:
    server, state = told(settings.model_copy(update={"drain_s": 3_600.0}))

    server.handle_exit(signal.SIGTERM, None)
    first = (state.draining, state.stopping, server.should_exit)
    server.handle_exit(signal.SIGTERM, None)
    second = (state.draining, state.stopping, server.should_exit)

    assert first == (True, False, False)
    assert second == (True, True, True)


def test_server_that_does_not_drain_ends_at_once(settings: Settings) -> None:
    server, state = told(settings)

    server.handle_exit(signal.SIGTERM, None)

    assert (state.draining, state.stopping, server.should_exit) == (True, True, True)
