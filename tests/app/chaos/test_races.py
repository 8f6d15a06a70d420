"""Changes of one thing at the same moment: each is whole, and none is done twice."""

from collections import Counter
from functools import partial
from itertools import chain

import httpx
import pytest
import sqlalchemy as sa

from askless.app.store.database.tables import models, sessions
from tests.app.chaos.rows import count_rows, violations
from tests.app.clinic import clinic, many, model_json, said
from tests.app.servers import at_once

pytest_plugins = ["tests.app.conftest_server"]
pytestmark = pytest.mark.chaos
N_ROUNDS = 8


def test_no_session_is_opened_on_a_deleted_model(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    for _ in range(N_ROUNDS):
        raw = model_json(clinic(), "clinic")
        model = caller.post("/models?as_version=true", json=raw).json()["id"]
        body = {"model": model, "budget": 9}
        openings = [partial(caller.post, "/predict", json=body) for _ in range(6)]
        deletion = partial(caller.delete, f"/models/{model}")

        *opened, deleted = at_once(*openings, deletion)

        n_opened = sum(response.status_code == 201 for response in opened)
        assert {response.status_code for response in opened} <= {201, 404}
        assert deleted.status_code == (409 if n_opened else 204), deleted.text
    gone = sa.select(models.c.id).where(models.c.deleted_at.is_not(None))
    asked = sa.select(sessions.c.id).where(sessions.c.model_id.in_(gone))
    with engine.connect() as connection:
        assert connection.execute(asked).all() == []


def test_a_charge_is_reversed_once(caller: httpx.Client, engine: sa.Engine) -> None:
    caller.post("/models", json=model_json(clinic(), "clinic"))
    body = {"model": "clinic", "budget": 60}
    for _ in range(N_ROUNDS):
        session = f"/predict/{caller.post('/predict', json=body).json()['id']}"
        caller.post(f"{session}/answers", json={"answers": [said("age", 63)]})
        (entry,) = caller.get(f"{session}/ledger").json()["items"]
        path, why = f"/ledger/{entry['id']}/reverse", {"reason": "It was lost."}

        found = at_once(*[partial(caller.post, path, json=why) for _ in range(4)])

        statuses = Counter(response.status_code // 100 for response in found)
        assert statuses == {2: 1, 4: 3}, [one.text for one in found]
        assert caller.get(session).json()["budget"]["spent"] == 0
    assert violations(engine) == []
    assert count_rows(engine)["ledger"] == 2 * N_ROUNDS


def test_a_budget_that_changes_amid_answers_is_never_passed(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    caller.post("/models", json=model_json(many(40), "many"))
    body = {"model": "many", "budget": 20, "stop": {"certain": False}}
    session = f"/predict/{caller.post('/predict', json=body).json()['id']}"
    answers = [
        partial(
            caller.post, f"{session}/answers", json={"answers": [said(f"f{number}", 1)]}
        )
        for number in range(40)
    ]
    changes = [
        partial(caller.patch, session, json={"budget": budget})
        for budget in (5, 10, 15, 30, 25, 12)
    ]

    found = at_once(*answers, *changes)

    # 409: no room for an answer; 422: less than is spent.
    assert {response.status_code for response in found} <= {200, 409, 422}
    assert violations(engine) == []
    after = caller.get(session).json()
    n_answered = sum(response.status_code == 200 for response in found[:40])
    assert after["budget"]["spent"] == n_answered == len(after["answers"])


def test_a_post_repeated_at_once_is_done_once(
    caller: httpx.Client, engine: sa.Engine
) -> None:
    caller.post("/models", json=model_json(clinic(), "clinic"))
    body = {"model": "clinic", "budget": 60}
    opened = []
    for number in range(N_ROUNDS):
        headers = {"Idempotency-Key": f"key-{number}"}
        post = partial(caller.post, "/predict", json=body, headers=headers)

        found = at_once(*[post] * 4)

        opened.append(
            {response.json()["id"] for response in found if response.status_code == 201}
        )
        # 409: the first one is not answered yet.
        assert {response.status_code for response in found} <= {201, 409}
    assert [len(one) for one in opened] == [1] * N_ROUNDS
    assert count_rows(engine)["sessions"] == len({*chain(*opened)})
