"""The list of cases: what they are called, what they predict, what they wait for."""

import re
from datetime import timedelta

from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.words.wording import describe_age


def start(client: TestClient, model_id: str, **more: object) -> str:
    body = {"model": model_id, "budget": 60, **more}
    return str(client.post("/predict", json=body).json()["id"])


def test_case_without_a_name_is_called_by_model_and_time(
    client: TestClient, model_id: str
) -> None:
    start(client, model_id)
    start(client, model_id, client_ref="visit <7>")

    for address in ("/ui/sessions", "/ui"):
        page = client.get(address).text
        assert re.search(r"heart-cleveland, \d+ \w{3} \d\d:\d\d", page)
        assert "visit &lt;7&gt;" in page


def test_list_has_the_prediction_and_what_is_spent(
    client: TestClient, model_id: str
) -> None:
    session = start(client, model_id)
    answer = {"feature": "age", "outcome": "value", "value": 63}
    client.post(f"/predict/{session}/answers", json={"answers": [answer]})
    said = client.get(f"/predict/{session}").json()["prediction"]

    page = client.get("/ui/sessions").text

    assert f"{said['display']} ({100 * said['probability']:.0f} %)" in page
    assert "1.00 of 60.00 CAD" in page


def test_pending_results_stand_on_top_once(client: TestClient, model_id: str) -> None:
    waiting = start(client, model_id, budget=1)
    body = {"answers": [{"feature": "age", "outcome": "ordered"}]}
    client.post(f"/predict/{waiting}/answers", json=body)
    assert client.get(f"/predict/{waiting}").json()["state"] == "waiting"
    start(client, model_id)

    page = client.get("/ui/sessions").text
    only_open = client.get("/ui/sessions?state=open").text

    assert page.index("Waiting for results</caption>") < page.index("Other cases")
    assert page.count(f"/ui/sessions/{waiting}") == 1
    assert re.search("for <bdi[^>]*>Age", page)
    assert waiting not in only_open


def test_a_list_parses_a_model_once(
    client: TestClient, app: FastAPI, model_id: str
) -> None:
    for _ in range(3):
        start(client, model_id)
    app.state.loaded.models.clear()

    client.get("/ui/sessions")

    assert list(app.state.loaded.models) == [(model_id, None)]


def test_age_is_in_its_largest_unit() -> None:
    ages = [timedelta(seconds=one) for one in (-5, 59, 60, 7_200, 90_000)]

    assert [describe_age(age) for age in ages] == [
        "less than a minute",
        "less than a minute",
        "1 minute",
        "2 hours",
        "1 day",
    ]
