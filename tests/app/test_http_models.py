"""Models over HTTP: card, curve, plan, champion, deletion."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.documents.files import model_text
from askless.app.documents.http.sessions import PredictRequest
from askless.app.errors import ConflictError, NotFoundError
from askless.app.records import Moment
from askless.app.service import models, sessions
from askless.app.service.loaded import LoadedModels
from askless.app.store.database.transactions import Transaction
from askless.core.model.figures import (
    Estimate,
    Figures,
    RareFigures,
    ReliabilityBin,
)
from askless.core.model.model import Curve, Model
from askless.core.session import machine
from askless.core.session.state import StopRule
from tests.app.clinic import (
    CLINIC,
    UNIT,
    Put,
    Start,
    clinic,
    many,
    said,
)
from tests.app.jobs import wait
from tests.app.tenants import transaction
from tests.sessions import observe

pytest_plugins = ["tests.app.conftest_http"]

only_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def test_models_are_paged_newest_first(client: TestClient, put: Put) -> None:
    made = [put(many(1), name) for name in ("a", "b", "c")]

    first = client.get("/models?limit=2").json()
    rest = client.get(f"/models?limit=2&after={first['next']}").json()

    assert [item["id"] for item in first["items"] + rest["items"]] == made[::-1]
    assert rest["next"] is None


@only_sqlite
def test_the_card_gives_the_catalogue_in_units(client: TestClient, put: Put) -> None:
    model = client.get(f"/models/{put()}").json()

    assert model["features"][2] == {
        "name": "chol",
        "label": "chol",
        "text": "chol",
        "type": "number",
        "unit": None,
        "ucum": None,
        "code": None,
        "system": None,
        "cost": 5.17,
        "group": "blood",
        "categories": [],
        "category_labels": [],
        "used": True,
        "billing": "per_answer",
    }
    assert model["groups"] == [
        {
            "name": "blood",
            "label": None,
            "fee": 2.1,
            "price": None,
            "billing": "per_answer",
        },
        {
            "name": "echo",
            "label": None,
            "fee": None,
            "price": 9.0,
            "billing": "per_answer",
        },
    ]
    assert (model["positive"], model["policy"]) == ("1", "ordered")


@only_sqlite
def test_the_curve_is_given_in_units(client: TestClient) -> None:
    curve = Curve(
        budgets=(0, 2 * UNIT, None),
        errors=(0.5, 0.3, 0.2),
        errors_calibrated=(0.4, 0.3, 0.2),
        mean_spends=(0.0, 1.5e6, 3e6),
        max_spends=(0, 2 * UNIT, 4 * UNIT),
        n_samples=10,
    )
    text = model_text(Model("curved", clinic(), "disease", curve=curve))
    made = client.post("/models?as_version=true", json=json.loads(text))

    shown = client.get(made.headers["location"] + "/curve").json()

    assert shown["budgets"] == [0.0, 2.0, None]
    assert shown["error_calibrated"] == [0.4, 0.3, 0.2]
    assert shown["interval"][0] == pytest.approx([0.168, 0.687], abs=1e-3)
    assert shown["mean_spend"] == [0.0, 1.5, 3.0]
    assert shown["max_spend"] == [0.0, 2.0, 4.0]
    assert shown["predictive"] is None


@only_sqlite
def test_the_curve_has_the_figures_that_the_model_brings(client: TestClient) -> None:
    share, amount = Estimate(0.75, (0.6, 0.85)), Estimate(1.5, None)
    figures = Figures(
        auroc=share,
        log_loss=amount,
        brier=share,
        calibration_error=share,
        sensitivity=None,
        specificity=share,
        expected_cost=amount,
        reliability=(ReliabilityBin(1.0, 0.25, share),),
        rare=RareFigures(0.2, share, None),
    )
    curve = Curve((None,), (0.5,), (0.4,), (0.0,), (0,), 10, predictive=(figures,))
    text = model_text(Model("measured", clinic(), "disease", curve=curve))
    made = client.post("/models?as_version=true", json=json.loads(text))

    (shown,) = client.get(made.headers["location"] + "/curve").json()["predictive"]

    told = {"value": 0.75, "interval": [0.6, 0.85]}
    cost = {"value": 1.5, "interval": None}
    assert shown == {
        **dict.fromkeys(("auroc", "brier", "calibration_error", "specificity"), told),
        **dict.fromkeys(("log_loss", "expected_cost"), cost),
        "sensitivity": None,
        "reliability": [{"share": 1.0, "mean_chance": 0.25, "observed": told}],
        "rare": {"threshold": 0.2, "precision": told, "recall": None},
    }


@only_sqlite
def test_a_model_without_validation_has_no_curve(client: TestClient, put: Put) -> None:
    assert client.get(f"/models/{put()}/curve").status_code == 404


@only_sqlite
@pytest.mark.parametrize("budget", [None, 0, 1.5, 14.0, 25.87, 60.0])
def test_a_plan_is_what_a_session_buys(
    client: TestClient, put: Put, budget: float | None
) -> None:
    ensemble = clinic()
    query = "" if budget is None else f"?budget={budget}"
    limit = None if budget is None else int(budget * UNIT)
    state = machine.start(ensemble, limit, stop=StopRule(certain=False))
    asked: list[tuple[str, float]] = []
    while (question := machine.next_question(ensemble, state)) is not None:
        name = CLINIC.features[question.feature_idx].name
        asked.append((name, question.price / UNIT))
        for idx in question.feature_idxs:
            state = observe(ensemble, state, idx, "value", 1.0)

    plan = client.get(f"/models/{put()}/plan{query}").json()

    assert [
        (purchase["feature"], purchase["price"]) for purchase in plan["purchases"]
    ] == asked
    assert plan["total"] == state.spent / UNIT
    assert budget is None or plan["total"] <= budget


def test_a_model_with_a_session_that_is_open_or_waits_is_not_deleted(
    client: TestClient, put: Put, start: Start
) -> None:
    model_id = put()
    session = start(60.0, model=model_id)

    refused = client.delete(f"/models/{model_id}")
    ordered = {"answers": [said("age", "ordered")]}
    client.post(f"/predict/{session['id']}/answers", json=ordered)
    client.post(f"/predict/{session['id']}/stop")
    waiting = client.delete(f"/models/{model_id}")
    came = {"answers": [said("age", 63)]}
    client.post(f"/predict/{session['id']}/answers", json=came)
    deleted = client.delete(f"/models/{model_id}")

    assert refused.status_code == waiting.status_code == 409
    assert refused.json()["type"] == "/problems/model-in-use"
    assert deleted.status_code == 204
    assert client.get(f"/models/{model_id}").status_code == 404
    assert client.get("/models").json()["items"] == []


@only_sqlite
def test_an_expired_session_does_not_keep_a_model(
    app: FastAPI, client: TestClient, put: Put, start: Start
) -> None:
    model_id = put()
    start(60.0, model=model_id)
    app.state.clock = lambda: datetime.now(UTC) + timedelta(days=8)

    assert client.delete(f"/models/{model_id}").status_code == 204


@only_sqlite
def test_a_session_outlives_its_deleted_model(
    client: TestClient, put: Put, start: Start
) -> None:
    model_id = put()
    session = start(60.0, model=model_id)
    client.post(f"/predict/{session['id']}/stop")
    client.delete(f"/models/{model_id}")

    shown = client.get(f"/predict/{session['id']}")
    refused = client.post("/predict", json={"model": "clinic", "budget": 1})

    assert shown.json()["model"]["name"] == "clinic"
    assert refused.status_code == 404


def is_blocked(engine: sa.Engine) -> bool:
    """Whether a transaction waits for the lock of another one."""
    waiting = sa.text(
        "SELECT 1 FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with transaction(engine, is_read=True) as db:
        return db.scalar(waiting) is not None


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
@pytest.mark.parametrize("is_deleted_first", [False, True])
def test_no_session_opens_on_a_model_while_it_is_deleted(
    engine: sa.Engine, put: Put, is_deleted_first: bool
) -> None:
    model_id, loaded, now = put(), LoadedModels(), datetime.now(UTC)
    with transaction(engine, is_read=True) as db:
        loaded.load(db, model_id)

    at = Moment(now, *[timedelta(seconds=60)] * 2)

    def delete(db: Transaction) -> None:
        models.delete(db, model_id, at)

    def open_one(db: Transaction) -> None:
        wanted = PredictRequest(model=model_id, budget=None)
        sessions.start(db, loaded, wanted, at)

    def do_late() -> None:
        with transaction(engine) as db:
            late(db)

    first, late = (delete, open_one) if is_deleted_first else (open_one, delete)
    with ThreadPoolExecutor(1) as pool:
        with transaction(engine) as db:
            first(db)
            done = pool.submit(do_late)
            wait(lambda: done.done() or is_blocked(engine))
        error = done.exception(30)

    expected = NotFoundError if is_deleted_first else ConflictError
    assert isinstance(error, expected)


def asked(client: TestClient, model: str) -> str:
    """The version of the model that a session asks for by a name."""
    made = client.post("/predict", json={"model": model, "budget": 9})
    return str(made.json()["model"]["id"]) if made.status_code == 201 else "none"


def test_a_name_means_its_champion_or_else_the_newest(
    client: TestClient, put: Put
) -> None:
    first, second, third = put(), put(), put()
    assert asked(client, "clinic") == third
    assert asked(client, "clinic@champion") == "none"

    crowned = client.put(f"/models/{first}/champion")
    assert crowned.json()["champion"] is True
    assert asked(client, "clinic") == asked(client, "clinic@champion") == first
    assert asked(client, put()) != first, "an id means what it is"
    assert asked(client, "clinic@2") == second

    client.put(f"/models/{second}/champion")
    assert asked(client, "clinic") == second
    assert client.get(f"/models/{first}").json()["champion"] is False

    # A champion that another has followed is no reason to dethrone that one.
    assert client.delete(f"/models/{first}/champion").status_code == 204
    assert asked(client, "clinic") == second
    assert client.delete(f"/models/{second}/champion").status_code == 204
    assert asked(client, "clinic") not in (first, second)


def test_a_champion_that_is_deleted_is_none(client: TestClient, put: Put) -> None:
    first, second = put(), put()
    client.put(f"/models/{first}/champion")

    assert client.delete(f"/models/{first}").status_code == 204

    assert asked(client, "clinic") == second
    assert client.put(f"/models/{first}/champion").status_code == 404
    assert client.put(f"/models/{second}/champion").status_code == 200


def test_name_works_wherever_an_id_does(client: TestClient, put: Put) -> None:
    clinic_id = put()
    by_id, by_name = (client.get(f"/models/{one}") for one in (clinic_id, "clinic"))
    assert by_id.json() == by_name.json()
    for path in ("", "/export", "/plan?budget=5", "/monitor"):
        for key in ("clinic", "clinic@1"):
            assert client.get(f"/models/{key}{path}").status_code == 200, path
    assert client.put("/models/clinic/champion").status_code == 200
    assert client.get("/models/clinic@champion").json()["id"] == clinic_id
    assert (
        client.get("/ui/models/clinic", headers={"Accept": "text/html"}).status_code
        == 200
    )


def test_wrong_name_is_told_with_the_nearest(client: TestClient, put: Put) -> None:
    put()
    near = client.get("/models/clinc")
    far = client.get("/models/weather")

    assert near.status_code == far.status_code == 404
    assert near.json()["detail"] == "There is no model 'clinc'. Did you mean 'clinic'?"
    assert far.json()["detail"] == "There is no model 'weather'."
