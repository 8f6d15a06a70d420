"""The queue as those see it who wait: their place, and when the end may come."""

from dataclasses import replace
from datetime import timedelta

import sqlalchemy as sa

from app.service import queue, trainings
from app.store.tables import trainings as training_rows
from tests.app.jobs import Jobs, Spec, now
from tests.app.tenants import transaction


def test_place_is_the_order_of_claiming(jobs: Jobs, table: bytes, spec: Spec) -> None:
    ids = [jobs.start(table, spec).id for _ in range(3)]
    # At other prices: nobody waits for it by name.
    with transaction(jobs.engine) as db:
        db.execute(
            sa.update(training_rows)
            .where(training_rows.c.id == ids[0])
            .values(refit_of="mdl_1")
        )

    with transaction(jobs.engine, is_read=True) as db:
        places = [trainings.show(db, one, now()).place for one in ids]
    with transaction(jobs.engine) as db:
        claimed = [queue.claim(db, "wrk_1", now()) for _ in ids]

    assert [one and one.id for one in claimed] == [*ids[1:], ids[0]]
    assert places == [3, 1, 2]


def test_end_is_expected_at_the_pace_so_far(
    jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training, began = jobs.start(table, spec), now()
    told = []
    for share in (0.01, 0.25, 1.0):
        running = replace(training, state="running", started_at=began, share=share)
        with transaction(jobs.engine, is_read=True) as db:
            found = queue.stand(db, running, began + timedelta(seconds=60))
        told.append(found["expected_end"])

    later = [began + timedelta(seconds=one) for one in (240, 60)]
    assert told == [None, *later]
