"""A launch opens a session with what the record system knows of the patient."""

from datetime import UTC, datetime, timedelta

import httpx
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.store.database.engine import transaction
from tests.app.clinic import Make
from tests.app.doors.smart.ehr import (
    PATIENT,
    Ehr,
    observation,
)
from tests.app.doors.smart.launches import NOW, ago, come_back, known_of

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]


def test_a_launch_opens_a_session_with_what_the_last_day_found(
    app: FastAPI, client: TestClient, ehr: Ehr, key: Make
) -> None:
    ehr.observations = [observation("2093-3", 250, "mg/dL", ago(hours=3))]

    done = come_back(client, ehr)

    known = known_of(client, done, key)
    years = NOW.year - 1963 - ((NOW.month, NOW.day) < (2, 1))
    assert known == {"chol": 250, "age": years, "sex": "male"}
    page = client.get(done.headers["location"], follow_redirects=True)
    assert page.status_code == 200
    # The person has a key, and the session is theirs.
    with transaction(app.state.engine, None, is_read=True) as db:
        query = (
            "SELECT k.name, k.subject FROM keys k JOIN sessions s ON s.key_id = k.id"
        )
        assert db.execute(sa.text(query)).one() == ("Dr. Seven", "smart:ehr dr-7")
    # A clinician of the record system sees no keys.
    assert client.get("/ui/keys").status_code == 403
    assert ehr.asked[0] == f"Patient/{PATIENT}?"
    asked = httpx.QueryParams(ehr.asked[1].partition("?")[2])
    assert asked["patient"] == PATIENT
    assert "http://loinc.org|2093-3" in asked["code"].split(",")
    since = datetime.fromisoformat(asked["date"].removeprefix("ge"))
    assert timedelta(hours=23.9) < datetime.now(UTC) - since < timedelta(hours=24.1)


def test_what_is_older_wrong_or_anothers_is_not_known(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    other = {"subject": {"reference": "Patient/p-2"}}
    ehr.observations = [
        observation("2093-3", 251, "mg/dL", ago(hours=25)),
        observation("2093-3", 252, "mg/dL", ago(hours=2), status="entered-in-error"),
        observation("2093-3", 253, "mg/dL", ago(hours=2), **other),
        observation("2093-3", 254, "mmol/L", ago(hours=2)),
        observation("2093-3", 255, "mg/dL", "yesterday"),
        observation("2093-3", 256, "mg/dL", "9999-12-31"),
        observation("2093-3", 257, "mg/dL", "2990-01-01"),
        observation("2093-3", 258, "mg/dL", f"{NOW:%Y-%m-%d}"),
    ]
    ehr.lies[f"Patient/{PATIENT}"] = ({"resourceType": "Patient", "id": "p-2"},)

    # The one of today is left.
    assert known_of(client, come_back(client, ehr), key) == {"chol": 258}


def test_the_page_names_the_results_whose_form_cant_be_read(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    ehr.observations = [observation("2093-3", 6, "mmol/L", ago(hours=2))]

    done = come_back(client, ehr)
    page = client.get(done.headers["location"]).text
    address = done.headers["location"].partition("?")[0]
    other = client.get(address, params={"unread": ["nothing", "<b>"]}).text

    assert "chol" not in known_of(client, done, key)
    assert "the form of the result can&#39;t be read: chol." in page
    assert "can&#39;t be read" not in other


def test_what_was_not_granted_is_not_asked_for(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    ehr.lies["token"] = {"scope": "launch openid fhirUser patient/Patient.r"}

    known = known_of(client, come_back(client, ehr), key)

    assert set(known) == {"age", "sex"}
    assert ehr.asked == [f"Patient/{PATIENT}?"]


def test_results_come_in_pages_of_the_same_record_system(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    result = observation("2093-3", 250, "mg/dL", ago(hours=3))
    bundle = {"resourceType": "Bundle", "entry": [], "link": []}
    following = {"relation": "next", "url": f"{ehr.base}/more?page=2"}
    foreign = {"relation": "next", "url": "http://127.0.0.1:9/fhir/more"}
    ehr.lies["Observation"] = (bundle | {"link": [following]},)
    ehr.lies["more"] = (bundle | {"entry": [{"resource": result}], "link": [foreign]},)

    assert known_of(client, come_back(client, ehr), key)["chol"] == 250


def test_the_session_is_as_over_predict(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    """The same questions, answers and charges, until it ends."""
    ehr.observations = [observation("2093-3", 250, "mg/dL", ago(hours=3))]
    done, headers = come_back(client, ehr), key(tenant="clinic")
    ours = done.headers["location"].rpartition("/")[2]
    order = {"model": "clinic", "budget": 60, "known": known_of(client, done, key)}
    twin = client.post("/predict", json=order, headers=headers).json()["id"]

    def answer(session: str, feature: str) -> None:
        said = {"answers": [{"feature": feature, "outcome": "refused"}]}
        url = f"/predict/{session}/answers"
        client.post(url, json=said, headers=headers).raise_for_status()

    n_asked = 0
    while True:
        views = [
            client.get(f"/predict/{one}", headers=headers).json()
            for one in (ours, twin)
        ]
        for name in ("question", "prediction", "budget", "answers", "should_stop"):
            assert views[0][name] == views[1][name], name
        if views[0]["question"] is None:
            break
        for session in (ours, twin):
            answer(session, views[0]["question"]["feature"])
        n_asked += 1
    assert n_asked > 1
