"""Challengers play the newest cases silently: which count, and what is kept of them."""

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.service.loop import challenges
from askless.app.service.loop.cases import StoredCase
from askless.app.store.challenges import StoredPlay
from askless.app.store.database.tables import challenge_cases, models
from askless.app.worker.errands import Errands
from askless.core.simulation.silent_play import Rivals
from tests.app.clinic import Train
from tests.app.jobs import Jobs
from tests.app.signs import NAME, SPEC, TABLE, Play, Refresh, Work, standing
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]


@pytest.mark.usefixtures("challenger")
def test_only_cases_that_began_after_the_cut_are_counted(
    client: TestClient, work: Work, play_silently: Play
) -> None:
    play_silently()
    before = standing(client)
    work("1", a=-1.0, b=1.0)
    play_silently()
    play_silently()

    after = standing(client)

    assert (before["cases"], before["loss"]) == (0, None)
    assert after["cases"] == 1
    assert (after["loss"]["champion"], after["loss"]["challenger"]) == (1.0, 0.0)
    assert after["loss"]["difference"]["value"] == 1.0
    assert [look["cases"] for look in after["looks"]] == [1]


@pytest.mark.usefixtures("champion")
def test_a_case_from_before_the_cut_does_not_count_when_it_ends_later(
    client: TestClient,
    work: Work,
    refresh: Refresh,
    jobs: Jobs,
    play_silently: Play,
) -> None:
    early = client.post("/predict", json={"model": NAME, "budget": None}).json()["id"]
    work("1", a=1.0, b=1.0)
    refresh()
    jobs.worker().work()
    client.post(f"/predict/{early}/stop")
    client.put(f"/predict/{early}/outcome", json={"label": "1"})

    play_silently()

    assert standing(client)["cases"] == 0


@pytest.mark.usefixtures("challenger")
def test_spends_are_compared_where_the_log_has_all_answers(
    client: TestClient, work: Work, play_silently: Play
) -> None:
    work("1", a=-1.0, b=1.0)
    work("1", a=-1.0)
    play_silently()

    spend = standing(client)["spend"]

    assert spend["cases"] <= 2
    assert spend["share"] == spend["cases"] / 2
    low, high = spend["difference"]["interval"]
    assert low <= spend["difference"]["value"] <= high


@pytest.mark.usefixtures("challenger")
def test_an_erased_case_keeps_its_losses_and_nothing_else(
    client: TestClient, work: Work, play_silently: Play, engine: sa.Engine
) -> None:
    session = work("1", a=-1.0, b=1.0)
    work("0", a=-1.0, b=0.0)
    play_silently()
    before = standing(client)

    client.delete(f"/predict/{session}")
    play_silently()

    with transaction(engine, is_read=True) as db:
        kept = set(db.scalars(sa.select(challenge_cases.c.session_id)))
    assert standing(client) == before
    assert session not in kept
    assert None in kept


@pytest.mark.usefixtures("challenger")
def test_a_case_that_is_erased_while_it_is_played_leaves_nothing(
    client: TestClient, work: Work, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = work("1", a=-1.0, b=1.0)
    work("0", a=-1.0, b=0.0)

    def erase(new: challenges.NewCases) -> list[StoredPlay]:
        client.delete(f"/predict/{session}")
        return play(new)

    play = challenges.play_new_cases
    monkeypatch.setattr(challenges, "play_new_cases", erase)
    Errands(jobs.engine, jobs.blobs, jobs.settings).play_challenges()

    with transaction(jobs.engine, is_read=True) as db:
        stored = set(db.scalars(sa.select(challenge_cases.c.session_id)))
    assert session not in stored
    assert standing(client)["cases"] == len(stored) == 1


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
@pytest.mark.usefixtures("challenger")
def test_cases_are_played_outside_of_a_transaction(
    client: TestClient,
    work: Work,
    jobs: Jobs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work("1", a=-1.0, b=1.0)
    open_then = []

    def look(rivals: Rivals, case: StoredCase) -> StoredPlay:
        open_then.append(jobs.engine.pool.checkedout())  # type: ignore[attr-defined]
        return play(rivals, case)

    play = challenges.play_case
    monkeypatch.setattr(challenges, "play_case", look)
    Errands(jobs.engine, jobs.blobs, jobs.settings).play_challenges()

    assert standing(client)["cases"] == 1
    assert open_then == [0]


@pytest.mark.usefixtures("challenger")
def test_one_challenge_that_fails_stops_no_other(
    client: TestClient,
    train: Train,
    work: Work,
    refresh: Refresh,
    jobs: Jobs,
    play_silently: Play,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = f"other {NAME}"
    train(TABLE, SPEC | {"name": other})
    work("1", model=other, a=-1.0, b=1.0)
    refresh(other)
    jobs.worker().work()
    for name in (NAME, other):
        work("1", model=name, a=-1.0, b=1.0)
    found = {standing(client, name)["id"]: name for name in (NAME, other)}
    with transaction(jobs.engine) as db:
        (_, first), (_, second) = challenges.open_ids(db)
        broken = models.c.id == standing(client, found[first])["challenger"]
        db.execute(models.update().where(broken).values(document="{}"))

    play_silently()

    assert standing(client, found[second])["cases"] == 1
    (failed,) = (
        record for record in caplog.records if record.message == "challenge.failed"
    )
    assert failed.fields["challenge_id"] == first  # type: ignore[attr-defined]


@pytest.mark.usefixtures("challenger")
def test_a_corrected_outcome_does_not_change_what_was_counted(
    client: TestClient, work: Work, play_silently: Play
) -> None:
    session = work("1", a=-1.0, b=1.0)
    play_silently()
    before = standing(client)

    client.put(f"/predict/{session}/outcome", json={"label": "0"})
    play_silently()

    assert standing(client) == before


@pytest.mark.usefixtures("challenger")
def test_a_case_counts_once_it_is_closed(
    client: TestClient, play_silently: Play
) -> None:
    path = client.post("/predict", json={"model": NAME, "budget": None}).json()["id"]
    client.put(f"/predict/{path}/outcome", json={"label": "1"})
    play_silently()
    assert standing(client)["cases"] == 0

    client.post(f"/predict/{path}/stop")
    play_silently()

    assert standing(client)["cases"] == 1
