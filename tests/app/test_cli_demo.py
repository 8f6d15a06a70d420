"""The demo of the service: begun once, finished after whatever kill, never unasked."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from askless.app.cli.serving import demo
from askless.app.documents.model.model import model_from_json
from askless.app.records import DEFAULT_TENANT, SessionFilter
from askless.app.service import keys, models
from askless.app.service.jobs import trainings
from askless.app.settings.home import DEMO_KEY
from askless.app.settings.settings import Settings
from askless.app.store import datasets, sessions
from askless.app.store.database.engine import create_engine, transaction
from askless.app.terminal.demo import describe_counts
from askless.app.words.own_questions import choose_cases
from tests.app.conftest import Finished
from tests.app.tenants import store_model
from tests.pages.site import heart
from tests.patients import Killed, run_until

Run = Callable[..., Finished]
NAMES = ["breast-cancer", "diabetes-progression", "heart-cleveland", "leads"]


def begin(settings: Settings, last: int = 10**6) -> int:
    """Seed the demo up to a commit; return how many there were."""
    return run_until(settings.url, last, lambda: demo.seed_demo(settings))


def seeded(engine: sa.Engine, home: Path) -> dict[str, Any]:
    """What there is of the demo."""
    with transaction(engine, None, is_read=True) as db:
        tenant_id = keys.find_tenant(db, demo.TENANT)
        token = (home / DEMO_KEY).read_text().strip()
        known = keys.identify_key(db, token)
    with transaction(engine, tenant_id, is_read=True) as db:
        found = trainings.page(db, 50, None).items
        made = keys.page(db, 50, None).items
    tables = sorted(path.name for path in (home / "uploads").iterdir())
    return {
        "token": token,
        "names": sorted(one.name for one in found),
        "states": {one.state for one in found},
        "key": known.tenant_id == tenant_id and known.revoked_at is None,
        "keys": len(made),
        "rows": sorted(one.dataset_id or "" for one in found),
        "blobs": tables,
    }


def test_a_second_start_changes_nothing(settings: Settings, engine: sa.Engine) -> None:
    begin(settings)
    first = seeded(engine, settings.home_dir)

    begin(settings)

    assert seeded(engine, settings.home_dir) == first
    assert (first["names"], first["states"]) == (NAMES, {"queued"})
    assert (first["key"], first["keys"]) == (True, 1)
    assert first["rows"] == first["blobs"]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_start_that_was_killed_is_finished_by_the_next(
    settings: Settings, engine: sa.Engine
) -> None:
    """Killed before each commit in turn; each start comes one further."""
    last, was_killed = 0, True
    while was_killed:
        try:
            begin(settings, last)
            was_killed = False
        except Killed:
            last += 1

    found = seeded(engine, settings.home_dir)
    assert last > 4
    assert (found["names"], found["states"]) == (NAMES, {"queued"})
    assert (found["key"], found["keys"]) == (True, 1)
    # What was written before a kill has no row; workers remove it.
    assert set(found["rows"]) <= set(found["blobs"])


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("state", "count"), [("failed", 2), ("cancelled", 1)])
def test_what_has_failed_is_tried_again_and_what_was_cancelled_is_not(
    settings: Settings, engine: sa.Engine, state: str, count: int
) -> None:
    begin(settings)
    change = f"UPDATE trainings SET state = '{state}' WHERE name = 'heart-cleveland'"
    with engine.begin() as connection:
        connection.execute(sa.text(change))

    begin(settings)

    names = seeded(engine, settings.home_dir)["names"]
    assert names.count("heart-cleveland") == count


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path))
    return tmp_path


def test_a_start_tells_the_address_and_always_the_same_key(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKLESS_DEMO", "1")
    monkeypatch.setenv("ASKLESS_ADDRESS", "http://localhost:18000")

    told, again = (run("migrate").out.splitlines()[-1] for _ in range(2))
    (own_home / DEMO_KEY).unlink()
    other = run("migrate").out.splitlines()[-1]
    key = "key_" + other.split("askl_")[1].split("_")[0]
    run("keys", "revoke", key, "--tenant", "demo")
    revoked = run("migrate").out

    assert told.startswith("Demo: open http://localhost:18000, key askl_")
    assert again == told
    assert other.startswith("Demo: open http://localhost:18000, key askl_")
    assert other != told, "a key that is lost can't be told again"
    assert "askl_" not in revoked
    assert "askless keys create NAME --tenant demo" in revoked
    assert (own_home / DEMO_KEY).stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("own_home")
def test_a_first_case_is_ready_once_its_model_is(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKLESS_DEMO", "1")
    before = run("migrate").out
    settings = Settings()
    with demo.open_engine(settings) as engine:
        with transaction(engine, None) as db:
            tenant_id = keys.find_tenant(db, demo.TENANT)
        with transaction(engine, tenant_id) as db:
            model = replace(model_from_json(heart()), name=demo.MODEL)
            store_model(db, model, datetime.now(UTC))

    told, again = (run("migrate").out for _ in range(2))

    with demo.open_engine(settings) as engine, transaction(engine, tenant_id) as db:
        now = datetime.now(UTC)
        found = sessions.page(db, 9, None, SessionFilter(), now).items
        ids = [one.id for one in found]
    assert "case" not in before
    assert f"http://127.0.0.1:8000/ui/sessions/{ids[0]}\n" in told
    assert (again, len(ids)) == (told, 1)


def test_nothing_is_seeded_unasked(run: Run, own_home: Path) -> None:
    said = run("migrate").out

    assert said == "the database is up to date\n"
    assert "demo" not in run("tenants", "list").out
    assert not (own_home / DEMO_KEY).exists()


def test_an_address_is_one_for_a_browser(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKLESS_ADDRESS", "localhost:8000")

    refused = run("migrate")

    assert refused.code == 2
    assert "ASKLESS_ADDRESS" in refused.err


def questions_of(played: str) -> list[str]:
    """The features that a session of the transcript is asked, in order."""
    return re.findall(r"^[0-9]+\. (.+?) {3}", played, re.MULTILINE)


@pytest.mark.full  # The training of the demo, whole.
@pytest.mark.usefixtures("own_home")
def test_demo_plays_an_easy_and_a_hard_case_and_leaves_its_model(run: Run) -> None:
    played = run("demo", "--no-serve")

    engine = create_engine(Settings().url)
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        stored = models.page(db, 50, None).items
        (training,) = trainings.page(db, 50, None).items
        table = datasets.get(db, training.dataset_id or "")
    engine.dispose()
    again = run("refresh", "heart-cleveland")
    head, rest = played.out.split("An easy case", 1)
    easy, hard = (questions_of(one) for one in rest.split("A hard case", 1))
    assert played.code == 0
    assert [one.name for one in stored] == ["heart-cleveland"]
    assert "12 patients were kept from training" in " ".join(head.split())
    assert 2 <= len(easy) < 4 < len(hard)
    assert "saves less error than it costs" in rest.split("A hard case", 1)[0]
    assert "How cases go" in rest
    # The model can be refreshed: its training and its rows are there.
    assert (training.state, training.model_id) == ("succeeded", stored[0].id)
    assert table.n_rows == 303 - 12
    assert "No case of heart-cleveland has become known" in again.out


@pytest.mark.parametrize(
    ("asked", "is_right", "picks"),
    [
        (["012", "01", "0134", "01", "0135"], [1, 1, 1, 1, 0], (1, 2, 4)),
        (["0", "0123", "012"], [0, 1, 1], (0, 1, None)),
        (["01", "012", "0123", "0213", "021"], [0, 1, 0, 0, 1], (0, 1, 2)),
        # All alike, or shorter than the short one.
        (["01", "01", "01"], [1, 0, 1], (0, None, None)),
        (["01", "0"], [1, 0], (0, None, None)),
        # None has two questions; as many, but others.
        (["01234", "0123", "0124"], [1, 1, 0], (1, 0, 2)),
    ],
)
def test_shown_are_a_case_of_two_questions_and_the_longest_right_and_wrong(
    asked: list[str], is_right: list[int], picks: tuple[int | None, ...]
) -> None:
    lists = [[int(digit) for digit in digits] for digits in asked]

    assert choose_cases(lists, [bool(right) for right in is_right]) == picks


def test_counts_of_questions_are_told() -> None:
    assert describe_counts([3, 2, 9, 2]) == "2 after 2, 1 after 3, 1 after 9 questions"
