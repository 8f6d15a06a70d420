"""Pages of trainings: the list, how far one is, cancelling, failures."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from askless.app.pages.trainings.trainings import STATES
from askless.app.records import TrainingState
from askless.app.service.jobs import queue
from askless.app.store import jobs
from askless.app.store.database.engine import transaction
from askless.app.words.wording import describe_time_left
from askless.core.errors import Refusal, RefusedError
from tests.pages.hostile import MARKUP
from tests.pages.site import Site, token_of

TABLE = "a,label\n" + "".join(f"{number},{number % 2}\n" for number in range(40))
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def order(client: TestClient, name: str = MARKUP) -> str:
    """Order a training, which nobody takes, and return its page."""
    dataset = client.post("/datasets", files={"dataset": ("t.csv", TABLE)})
    spec = {"dataset_id": dataset.json()["id"], "target": "label", "name": name}
    made = client.post("/train", json=spec)
    assert made.status_code == 202, made.text
    return f"/ui/train/{made.json()['id']}"


def read(client: TestClient, page: str) -> str:
    got = client.get(page, headers={"Accept": "text/html"})
    assert got.status_code == 200, got.text
    return got.text


def cancel(client: TestClient, page: str, text: str) -> Any:
    data = {"form_token": token_of(text)}
    return client.post(f"{page}/cancel", data=data, headers={"Accept": "text/html"})


def claim(client: TestClient, **more: Any) -> Any:
    """Take the training as a worker does, go some steps, and end with a problem."""
    engine = client.app.state.engine  # type: ignore[attr-defined]
    with transaction(engine, None) as db:
        claimed = queue.claim(db, "w", NOW)
        assert claimed is not None
    with transaction(engine, claimed.tenant_id) as db:
        for step in more.get("steps", ()):
            kind, share = "progress", 0.1
            jobs.add_event(db, claimed.id, kind, NOW, share, **step)
        if "problem" in more:
            queue.fail(db, claimed, more["problem"], NOW)
    return claimed


def test_a_waiting_training_tells_its_place(client: TestClient) -> None:
    first, second = order(client, "n"), order(client)
    listed = read(client, "/ui/train")
    shown = read(client, second)

    assert "It is the next in the queue." in read(client, first)
    assert "It is number 2 in the queue. No worker is there" in shown
    assert f'data-follow="{second}/events"' in shown
    assert second in listed
    for text in (shown, listed):
        assert "&lt;script&gt;" in text
        assert "<script>alert" not in text


def test_what_the_name_will_mean_is_told_until_the_training_ends(
    client: TestClient,
) -> None:
    page = order(client, "n")
    before = read(client, page)
    cancel(client, page, before)

    assert "n will mean the model of this training" in before
    assert "will mean" not in read(client, page)


def test_a_training_is_cancelled_once(client: TestClient) -> None:
    page = order(client)
    before = read(client, page)
    first = cancel(client, page, before)
    second = cancel(client, page, before)
    shown = read(client, page)

    assert first.status_code == 303
    assert second.status_code == 409
    assert "It is not cancelled. The training is cancelled already." in second.text
    assert "The training was cancelled." in shown
    assert "Cancel the training" not in shown
    assert "data-follow" not in shown


def test_the_stream_is_for_who_has_the_cookie(client: TestClient) -> None:
    page = order(client)
    cancel(client, page, read(client, page))
    told = client.get(f"{page}/events")

    assert told.headers["content-type"].startswith("text/event-stream")
    assert re.findall("event: (.*)", told.text) == ["queued", "cancelled"]
    again = client.get(f"{page}/events", headers={"Last-Event-ID": "2"})
    assert again.status_code == 204


def test_a_running_training_can_be_cancelled(client: TestClient) -> None:
    page = order(client)
    claim(client, steps=({"part": 0}, {"part": 1, "parts": 6, "round": 17}))
    running = read(client, page)
    cancel(client, page, running)
    cancelling = read(client, page)

    assert "The model is being trained." in running
    assert "in the queue" not in running
    assert "Testing on part 2 of 5: a model learns from all other rows." in running
    assert "The training is being cancelled." in cancelling
    assert "Cancel the training" not in cancelling


@pytest.mark.parametrize("steps", [(), ({"part": 5},), ({"part": 5, "round": None},)])
def test_a_running_training_may_be_at_no_round(
    client: TestClient, steps: tuple[dict[str, Any], ...]
) -> None:
    """As before its first step, and while panels are fitted."""
    page = order(client)
    claim(client, steps=steps)

    running = read(client, page)

    assert "The model is being trained." in running
    assert "Testing on" not in running
    assert "Error so far" not in running


def test_the_error_of_the_parts_tested_so_far_is_drawn(client: TestClient) -> None:
    page = order(client)
    points = [
        {"budget": 0, "mean_spend": 0.0, "error": 0.46},
        {"budget": 2.5, "mean_spend": 1.75, "error": 0.21},
    ]
    tested = {"parts": 2, "rows": 122, "points": points}
    claim(client, steps=({"part": 5, "parts": 6, "tested": tested},))

    running = read(client, page)

    assert "Training the model on all rows." in running
    assert "Tested on 2 parts, 122 held-out rows." in running
    assert "21 %" in running
    assert running.count("<circle") == 2


def test_the_time_left_is_told_once_some_is_done(client: TestClient) -> None:
    page = order(client)
    claimed = claim(client)
    before = read(client, page)
    engine = client.app.state.engine  # type: ignore[attr-defined]
    with transaction(engine, claimed.tenant_id) as db:
        jobs.change(db, claimed.id, share=0.5)

    assert " left." not in before
    assert " left." in read(client, page)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "A few seconds left."),
        (5, "A few seconds left."),
        (13, "About 15 seconds left."),
        (54, "About 55 seconds left."),
        (57, "About 1 minute left."),
        (1_000, "About 17 minutes left."),
        (3_500, "About 1 hour left."),
        (100_000, "About 28 hours left."),
    ],
)
def test_the_time_left_is_rounded(seconds: int, words: str) -> None:
    assert describe_time_left(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (
            queue.refused_problem(
                RefusedError([Refusal(f"column {MARKUP}", "is odd")])
            ),
            ("is odd", "Mend what is listed"),
        ),
        (queue.out_of_memory_problem(1000), ("Take fewer rows or columns.",)),
        (queue.time_limit_problem(60), ("after the 60 s", "fewer rounds")),
        (queue.internal_problem(), ("name the training&#39;s id",)),
        (queue.dataset_lost_problem(), ("Upload the table again",)),
    ],
    ids=["refused", "memory", "time", "internal", "lost"],
)
def test_a_failure_says_what_to_do(
    client: TestClient, problem: dict[str, Any], said: tuple[str, ...]
) -> None:
    page = order(client)
    claim(client, problem=problem)
    shown = read(client, page)

    assert "The training failed." in shown
    for words in said:
        assert words in shown
    assert "<script>alert" not in shown


def test_a_training_whose_table_is_deleted_is_shown(client: TestClient) -> None:
    page = order(client)
    cancel(client, page, read(client, page))
    dataset_id = client.get(page.removeprefix("/ui")).json()["dataset_id"]
    client.delete(f"/datasets/{dataset_id}")

    assert "deleted since" in read(client, page)


def test_each_state_has_its_words() -> None:
    assert set(STATES) == set(get_args(TrainingState))


def test_a_page_follows_its_training_by_itself(page: Page, site: Site) -> None:
    dataset = site.upload("t.csv", TABLE)["id"]
    wish = {"dataset_id": dataset, "target": "label", "name": MARKUP}
    made = site.call("POST", "/train", wish)
    page.goto("/ui/train")
    page.get_by_role("link", name="alert(1)").first.click()
    expect(page.get_by_text("in the queue")).to_be_visible()
    expect(page.get_by_text("This page stands still")).to_be_hidden()

    site.call("POST", f"/train/{made['id']}/cancel")

    expect(page.get_by_text("The training was cancelled.")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
