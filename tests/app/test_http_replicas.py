"""Two servers over one database: what one has begun goes on at the other."""

import threading
from collections.abc import Iterator

import httpx
import pytest

from askless.app.settings.settings import Settings
from tests.app.jobs import Jobs, noisy_spec, noisy_table
from tests.app.servers import Server
from tests.app.test_http_trainings import sent


@pytest.fixture
def replicas(settings: Settings) -> Iterator[tuple[Server, Server]]:
    made = Server(settings), Server(settings)
    yield made
    for service in made:
        service.close()


@pytest.mark.slow
def test_stream_that_is_cut_at_one_goes_on_at_the_other(
    replicas: tuple[Server, Server], jobs: Jobs
) -> None:
    one, other = replicas
    training = jobs.start(noisy_table(), noisy_spec(300))
    worker = threading.Thread(target=jobs.worker(step_s=0.01).work)
    path = f"/train/{training.id}/events"
    seen: list[str] = []

    with (
        httpx.Client(timeout=120, trust_env=False) as http,
        http.stream("GET", one.url + path) as stream,
    ):
        worker.start()
        for line in stream.iter_lines():
            seen.append(line)
            if line == "" and len(sent("\n".join(seen))) == 4:
                one.process.kill()
                break
    last = {"Last-Event-ID": "4"}
    rest = httpx.get(other.url + path, headers=last, timeout=120, trust_env=False)
    worker.join()

    events = sent("\n".join([*seen, rest.text]))
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert events[-1][1] == "succeeded"
