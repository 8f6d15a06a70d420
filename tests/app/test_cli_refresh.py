"""`askless refresh`: at the database itself, for timers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from askless.app.cli.serving.refreshing import RefreshDesk
from askless.app.records import DEFAULT_TENANT
from askless.app.service.loop import monitor
from askless.app.service.loop.refreshes import StatedRule
from askless.app.settings.settings import Settings
from tests.app.conftest import Finished
from tests.app.jobs import Jobs
from tests.app.signs import NAME, Work

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]
pytestmark = pytest.mark.usefixtures("champion")
Run = Callable[..., Finished]


@pytest.fixture(autouse=True)
def home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASKLESS_HOME", str(settings.home))
    monkeypatch.setenv("ASKLESS_DATABASE_URL", settings.url)
    return settings.home


def test_a_refresh_is_begun_once_however_often_it_is_asked_for(
    run: Run, client: TestClient, work: Work, jobs: Jobs
) -> None:
    work("1", a=1.0, b=1.0)

    first = run("refresh", NAME, "--json")
    again = run("refresh", NAME, "--json")

    begun, nothing = json.loads(first.out), json.loads(again.out)
    assert (first.code, again.code) == (0, 0)
    assert (begun["refreshed"], nothing["refreshed"]) == (True, False)
    assert nothing["sentence"] == "Nothing is done. A challenge of signs is open."
    jobs.worker().work()
    shown = client.get(f"/models/{NAME}/challenge").json()
    assert (shown["id"], shown["state"]) == (begun["challenge"], "playing")


def test_no_connection_is_kept_while_a_challenge_is_open(
    work: Work, jobs: Jobs, settings: Settings
) -> None:
    work("1", a=1.0, b=1.0)
    desk = RefreshDesk(settings, jobs.engine, DEFAULT_TENANT)
    rule = StatedRule(0.05, 0.0, is_by_rule=False)
    kept = []
    event.listen(jobs.engine, "checkout", lambda one, *_: kept.append(one))
    event.listen(jobs.engine, "checkin", lambda one, *_: kept.remove(one))

    told = [desk.refresh(NAME, rule, if_due=False)["refreshed"] for _ in range(2)]

    assert told == [True, False]
    assert kept == []


def test_if_due_does_nothing_until_the_monitor_says_so(run: Run, work: Work) -> None:
    work("1", a=1.0, b=1.0)
    early = run("refresh", NAME, "--if-due")
    for _ in range(30):
        work("0", a=1.0, b=1.0)

    due = run("refresh", NAME, "--if-due", "--by-rule")

    assert (early.code, due.code) == (0, 0)
    assert early.out.startswith("Nothing is done. Nothing speaks for a refresh")
    assert " is in the queue: a challenger of signs. A refresh is due: " in due.out


def test_if_due_judges_the_newest_of_many_sessions(
    run: Run, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        work("1", a=1.0, b=1.0)
    monkeypatch.setattr(monitor, "MOST_SESSIONS", 2)

    done = run("refresh", NAME, "--if-due")

    assert done.code == 0
    assert done.out.startswith(
        "Nothing is done. Nothing speaks for a refresh so far: 2"
    )


def test_without_new_cases_nothing_is_done(run: Run) -> None:
    done = run("refresh", NAME)

    assert done.code == 0
    assert done.out.startswith("Nothing is done. No case of signs has become known")


@pytest.mark.parametrize(
    ("words", "field"),
    [(("nobody",), "NAME"), ((NAME, "--tenant", "nobody"), "--tenant")],
)
def test_what_is_not_there_is_refused(
    run: Run, words: tuple[str, ...], field: str
) -> None:
    refused = run("refresh", *words)

    assert (refused.code, refused.out) == (2, "")
    assert f"refused {field}:" in refused.err
