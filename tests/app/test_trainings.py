"""Trainings below HTTP; the worker's code runs in this process."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import cache

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from askless.app.documents.spec.spec import read_spec
from askless.app.errors import ConflictError, SupersededError
from askless.app.records import StoredJob
from askless.app.service.jobs import queue, training_runs, trainings
from askless.app.store.database.tables import datasets as dataset_rows
from askless.app.store.database.tables import models as model_rows
from askless.app.store.database.tables import trainings as training_rows
from askless.app.store.jobs import checkpoints
from askless.core.errors import RefusedError
from tests.app.jobs import Jobs, Spec, noisy_spec, noisy_table, now, undisturbed
from tests.app.tenants import transaction


@pytest.fixture
def training(jobs: Jobs, table: bytes, spec: Spec) -> StoredJob:
    """A small one in the queue."""
    return jobs.start(table, spec)


def count(jobs: Jobs, table: sa.Table) -> int:
    with transaction(jobs.engine, is_read=True) as db:
        return db.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def test_worker_makes_the_model_of_an_undisturbed_training(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training = jobs.start(table, spec)

    outcome = jobs.worker().work()

    assert outcome == "succeeded"
    assert jobs.document(training.id) == undisturbed(table, spec)
    ended = jobs.get(training.id)
    assert (ended.state, ended.share, ended.error) == ("succeeded", 1.0, None)


def test_events_are_numbered_from_one_and_end_with_the_state(jobs: Jobs) -> None:
    training = jobs.start(noisy_table(), noisy_spec(9))
    jobs.worker(step_s=0.0001).work()

    events = jobs.events(training.id)

    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert [event.type for event in events[:2]] == ["queued", "running"]
    assert {event.type for event in events[2:-1]} == {"progress"}
    assert events[-1].type == "succeeded"
    shares = [event.data["progress"] for event in events]
    assert shares == sorted(shares)
    assert jobs.events(training.id, after=3) == events[3:]


def test_checkpoints_go_with_the_result(jobs: Jobs) -> None:
    training = jobs.start(noisy_table(), noisy_spec(40))
    run = jobs.begin(training.id, 1)
    jobs.advance(training.id, 1, run)
    assert jobs.n_checkpoints() == 1
    jobs.sweep()

    jobs.worker().work()

    assert jobs.n_checkpoints() == 0


@pytest.mark.parametrize("recipe", [None, "of another version"])
def test_training_starts_anew_beside_rounds_of_another_recipe(
    jobs: Jobs, recipe: str | None
) -> None:
    table, spec = noisy_table(), noisy_spec(10)
    training = jobs.start(table, spec)
    jobs.advance(training.id, 1, jobs.begin(training.id, 1), n_rounds=3)
    with transaction(jobs.engine) as db:
        db.execute(checkpoints.update().values(rounds="unread", recipe=recipe))
    jobs.sweep()

    jobs.advance(training.id, 2, jobs.begin(training.id, 2))
    assert jobs.n_checkpoints() == 1
    jobs.sweep()
    jobs.worker(step_s=0.001).work()

    assert jobs.document(training.id) == undisturbed(table, spec)


def test_recipe_is_another_one_for_other_folds_and_other_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = read_spec(noisy_spec(10))
    recipes = {training_runs.hash_recipe(spec)}
    recipes.add(training_runs.hash_recipe(replace(spec, folds=spec.folds + 1)))
    monkeypatch.setattr(training_runs, "core_version", lambda: "0.0.9 (0000)")
    recipes.add(training_runs.hash_recipe(spec))

    assert len(recipes) == 3


FEW = noisy_spec(5)
SELECTED = noisy_spec(4) | {"selection": {"rounds": 5, "significance": 0.5}}
RATES = {"stages": 2, "detection": 0.85, "false_alarm": 0.8}
SPECS: dict[str, Spec] = {
    "boosted": noisy_spec(10),
    "cascade": noisy_spec(20) | {"algorithm": "cascade"},
    "forest": FEW | {"algorithm": "random_forest"},
    "tree": FEW | {"algorithm": "decision_tree"},
    "selected": SELECTED,
    "selected forest": SELECTED | {"algorithm": "random_forest"},
}
SPECS["cascade"]["params"] |= RATES
TAKEOVERS = {
    **{"boosted": (1, 10, 11, 25), "cascade": (1, 2), "forest": (1, 2), "tree": (1,)},
    **{"selected": (1, 7, 13, 20, 28), "selected forest": (5, 10, 17, 24)},
}


def table_of(kind: str) -> bytes:
    """Rows for a kind; half of them must be enough to select something."""
    return noisy_table(300 if kind in ("selected", "selected forest") else 60)


@cache
def expected(kind: str) -> str:
    return undisturbed(table_of(kind), SPECS[kind])


# Both engines store the rounds of boosting; where else a run is cut is not theirs. One
# cut of each kind is of level quick.
@pytest.mark.parametrize(
    ("kind", "n_pulled", "engine_name"),
    [
        pytest.param(
            *(kind, n_pulled, engine_name),
            marks=() if n_pulled == counts[len(counts) // 2] else pytest.mark.full,
        )
        for kind, counts in TAKEOVERS.items()
        for n_pulled in counts
        for engine_name in ("sqlite", "postgresql")[: 2 if kind == "boosted" else 1]
    ],
    indirect=["engine_name"],
)
def test_takeover_makes_the_same_model_to_the_byte(
    jobs: Jobs, kind: str, n_pulled: int
) -> None:
    training = jobs.start(table_of(kind), SPECS[kind])
    run = jobs.begin(training.id, 1)
    assert jobs.advance(training.id, 1, run, n_pulled)

    assert jobs.sweep() == [(training.id, "queued")]
    outcome = jobs.worker(step_s=0.001).work()

    assert outcome == "succeeded"
    assert jobs.document(training.id) == expected(kind)
    shares = [event.data["progress"] for event in jobs.events(training.id)]
    assert shares == sorted(shares)
    assert jobs.n_checkpoints() == 0


def test_superseded_attempt_writes_nothing(jobs: Jobs) -> None:
    table, spec = noisy_table(), noisy_spec(20)
    training = jobs.start(table, spec)
    old = jobs.begin(training.id, 1)
    jobs.advance(training.id, 1, old)
    jobs.sweep()

    with pytest.raises(SupersededError):
        jobs.advance(training.id, 1, old)
    new = jobs.begin(training.id, 2)
    with pytest.raises(SupersededError):
        jobs.advance(training.id, 1, old)
    model = old.pull(60.0).document
    assert model is not None
    claimed = replace(training, attempt=1)
    with pytest.raises(SupersededError), transaction(jobs.engine) as db:
        training_runs.save_model(db, claimed, model, now())
    with pytest.raises(SupersededError), transaction(jobs.engine) as db:
        queue.fail(db, claimed, queue.internal_problem(), now())
    with pytest.raises(SupersededError), transaction(jobs.engine) as db:
        queue.release(db, claimed, now())
    with transaction(jobs.engine) as db:
        assert not queue.record_heartbeat(db, claimed)

    assert jobs.get(training.id).state == "running"
    assert count(jobs, model_rows) == 0
    assert jobs.advance(training.id, 2, new)


def test_attempt_is_claimed_once(jobs: Jobs, training: StoredJob) -> None:
    jobs.begin(training.id, 1)

    assert jobs.worker().work() is None

    assert jobs.get(training.id).attempt == 1


def test_workers_that_claim_at_once_get_a_training_each(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    ids = [jobs.start(table, spec).id for _ in range(6)]
    barrier = threading.Barrier(4)

    def claim_all(number: int) -> list[str]:
        barrier.wait()
        claimed = []
        while True:
            with transaction(jobs.engine) as db:
                found = queue.claim(db, f"wrk_{number}", now())
            if found is None:
                return claimed
            claimed.append(found.id)

    with ThreadPoolExecutor(4) as pool:
        claimed = list(pool.map(claim_all, range(4)))

    assert sorted(itertools.chain(*claimed)) == sorted(ids)
    # Oldest first, whoever takes them.
    assert all(one == sorted(one, key=ids.index) for one in claimed)


def test_training_that_was_handed_back_keeps_its_place(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    first, _ = (jobs.start(table, spec) for _ in range(2))
    jobs.begin(first.id, 1)
    jobs.sweep()

    jobs.begin(first.id, 2)


def test_worker_with_nothing_to_do_never_waits_for_the_write_lock(jobs: Jobs) -> None:
    worker = jobs.worker()

    with transaction(jobs.engine) as db:
        db.execute(sa.delete(dataset_rows))  # On SQLite nobody else may write now.
        assert worker.work() is None
        worker.do_upkeep()


def test_saving_twice_changes_nothing(jobs: Jobs, training: StoredJob) -> None:
    run = jobs.begin(training.id, 1)
    model = run.pull(60.0).document
    assert model is not None

    for _ in range(2):
        with transaction(jobs.engine) as db:
            assert training_runs.save_model(
                db, replace(training, attempt=1), model, now()
            )

    assert count(jobs, model_rows) == 1
    assert [event.type for event in jobs.events(training.id)].count("succeeded") == 1


def test_model_is_the_next_version_of_its_name(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    for _ in range(2):
        jobs.start(table, spec)
        jobs.worker().work()

    with transaction(jobs.engine, is_read=True) as db:
        versions = db.scalars(sa.select(model_rows.c.version)).all()
    assert sorted(versions) == [1, 2]


def test_queued_training_is_cancelled_at_once(jobs: Jobs, training: StoredJob) -> None:
    assert jobs.cancel(training.id).state == "cancelled"

    assert jobs.worker().work() is None
    assert jobs.events(training.id)[-1].type == "cancelled"


def test_running_training_is_cancelled_at_its_next_step(jobs: Jobs) -> None:
    training = jobs.start(noisy_table(), noisy_spec(50))
    run = jobs.begin(training.id, 1)
    assert jobs.advance(training.id, 1, run)

    assert jobs.cancel(training.id).state == "cancelling"
    assert jobs.cancel(training.id).state == "cancelling"
    assert not jobs.advance(training.id, 1, run)

    assert jobs.get(training.id).state == "cancelled"
    assert jobs.n_checkpoints() == 0


def test_cancelled_while_the_last_step_runs_makes_no_model(
    jobs: Jobs, training: StoredJob
) -> None:
    model = jobs.begin(training.id, 1).pull(60.0).document
    assert model is not None
    jobs.cancel(training.id)

    with transaction(jobs.engine) as db:
        assert not training_runs.save_model(
            db, replace(training, attempt=1), model, now()
        )

    assert jobs.get(training.id).state == "cancelled"
    assert count(jobs, model_rows) == 0


def test_training_that_has_ended_is_not_cancelled(
    jobs: Jobs, training: StoredJob
) -> None:
    jobs.worker().work()

    with pytest.raises(ConflictError) as caught:
        jobs.cancel(training.id)

    assert caught.value.kind == "training-finished"


def test_released_training_goes_on_where_it_was(jobs: Jobs) -> None:
    table, spec = noisy_table(), noisy_spec(30)
    training = jobs.start(table, spec)
    stopping = jobs.worker()
    stopping.attempts.ask_to_stop()

    assert stopping.work() == "released"
    assert jobs.get(training.id).state == "queued"
    assert jobs.worker().work() == "succeeded"

    assert jobs.document(training.id) == undisturbed(table, spec)


def test_releasing_is_no_loss_of_a_worker(jobs: Jobs) -> None:
    jobs.start(noisy_table(), noisy_spec(30))
    stopping = jobs.worker()
    stopping.attempts.ask_to_stop()
    for _ in range(5):
        assert stopping.work() == "released"

    assert jobs.worker().work() == "succeeded"


def test_live_worker_is_not_swept_whatever_its_clock_says(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    jobs.start(table, spec)

    with transaction(jobs.engine) as db:
        assert queue.claim(db, "wrk_slow", now() - timedelta(days=1))

    with transaction(jobs.engine) as db:
        assert queue.requeue_silent(db, 30.0, 3, now() + timedelta(days=1)) == []


def test_cancelling_training_of_a_lost_worker_is_cancelled(
    jobs: Jobs, training: StoredJob
) -> None:
    jobs.begin(training.id, 1)
    jobs.cancel(training.id)

    assert jobs.sweep() == [(training.id, "cancelled")]


def test_weights_that_sum_past_any_double_are_trained_on(jobs: Jobs) -> None:
    lines = noisy_table().decode().splitlines()
    table = "\n".join(
        [f"{lines[0]},w", *(f"{line},{1e308}" for line in lines[1:]), ""]
    ).encode()

    jobs.start(table, noisy_spec(5) | {"weight": "w"})

    assert jobs.worker().work() == "succeeded"


def test_pages_are_newest_first_and_whole(jobs: Jobs, table: bytes, spec: Spec) -> None:
    started = [jobs.start(table, spec).id for _ in range(3)]
    seen, after = [], None
    for _ in range(3):
        with transaction(jobs.engine, is_read=True) as db:
            page = trainings.page(db, 1, after)
        seen += [entry.id for entry in page.items]
        after = page.next

    assert seen == started[::-1]
    assert after is None
    with (
        pytest.raises(RefusedError),
        transaction(jobs.engine, is_read=True) as db,
    ):
        trainings.page(db, 1, "trn_none")


def test_succeeded_without_a_model_is_impossible(
    jobs: Jobs, training: StoredJob
) -> None:
    with pytest.raises(IntegrityError), transaction(jobs.engine) as db:
        db.execute(
            sa.update(training_rows)
            .where(training_rows.c.id == training.id)
            .values(state="succeeded")
        )
