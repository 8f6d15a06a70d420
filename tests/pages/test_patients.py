"""Home's patients: shown by the rule, by whom they may be seen, gone when erased."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page

from askless.app.cli.serving import demo
from askless.app.documents.model.model import model_to_json
from askless.app.records import DEFAULT_TENANT
from askless.app.service import keys
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from askless.app.words.own_questions import N_PATIENTS
from askless.core.model.model import Model
from tests.app.servers import Server
from tests.kept import DATABASE, Applications
from tests.pages.audit import audit
from tests.pages.conftest import open_page
from tests.pages.site import Site, token_of
from tests.pages.visitors import Visitor
from tests.patients import train_heart

HEADING = "Patients who part ways"
NAME = re.compile(r"Demo patient \d+")


def play(settings: Settings, model: Model, tenant_id: str = DEFAULT_TENANT) -> None:
    """Do what the demo does once its training is done."""
    with demo.open_engine(settings) as engine:
        demo.store_trained(settings, engine, tenant_id, model)
        demo.list_case_lines(settings, engine, tenant_id, "")


def section_of(client: TestClient) -> str:
    """Home's part about patients; "" where there is none."""
    page = client.get("/ui").text
    found = re.search(r'<section aria-labelledby="patients">.*?</section>', page, re.S)
    assert (found is None) == (HEADING not in page)
    return "" if found is None else re.sub(r"\s+", " ", found[0])


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", html))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """A database in which the patients were played, of the tenant of the demo."""
    home = tmp_path_factory.mktemp("played")
    settings = Settings(home=home)
    shutil.copy(sqlite_template, home / DATABASE)
    play(settings, train_heart())
    with sqlite3.connect(home / DATABASE) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()
    return home / DATABASE


@pytest.fixture
def section(client: TestClient, applications: Applications, played: Path) -> str:
    applications.renew_database(played)
    return section_of(client)


def articles(section: str) -> list[str]:
    return re.findall("<article.*?</article>", section)


def test_a_short_case_and_long_ones_are_shown_with_questions_and_truth(
    client: TestClient, section: str
) -> None:
    cases = articles(section)
    ids = [re.findall("/ui/sessions/(ses_[0-9a-f]+)/result", case) for case in cases]

    assert len(cases) in (2, 3)
    for (id,), case in zip(ids, cases, strict=True):
        session = client.get(f"/predict/{id}").json()
        outcome = client.get(f"/predict/{id}/outcome").json()
        words, rows = words_of(case), re.findall("<tr>.*?</tr>", case)[1:]
        prediction = session["prediction"]
        assert session["client_ref"] in words
        assert f"{session['budget']['spent']:.2f} CAD" in words
        assert f"Predicted: {prediction['display']}, with" in words
        verdict = "right" if outcome["label"] == prediction["label"] else "wrong"
        assert f">{verdict}<" in case
        assert [f"{answer['charged']:.2f}" for answer in session["answers"]] == [
            re.findall(r'number">([0-9.]+)<', row)[0] for row in rows
        ]
        assert [f"{round(100 * step['after'])} %" for step in prediction["steps"]] == [
            re.findall(r'number">([^<]+)<', row)[1] for row in rows
        ]
        # By its own page it was right, or wrong, too.
        assert client.get(f"/ui/sessions/{id}/result").status_code == 200
    counts = [len(re.findall("<tr>", case)) for case in cases]
    assert counts[0] == min(counts)


def test_rule_and_aim_are_said(section: str) -> None:
    words = words_of(section)

    assert f"The last {N_PATIENTS} rows of the table were kept from training" in words
    assert "the longest right and the longest wrong prediction" in words
    assert re.search(rf"Of the {N_PATIENTS} there are, \d+ were predicted right", words)
    assert "With at most 220.00 CAD a case, and by an aim" in words
    assert "With a mean budget of 60.00 CAD cases cost" in words


def test_case_to_try_has_the_model_and_terms_of_the_patients(
    client: TestClient, section: str, model: Model
) -> None:
    assert section
    # It has a curve, and would be offered without the patients.
    other = client.post("/models", json=model_to_json(replace(model, name="other")))
    page = client.get("/ui").text
    form = dict(re.findall('name="(model|feature)" value="([^"]+)"', page))

    made = client.post("/ui/try", data={"form_token": token_of(page), **form})

    session = client.get(f"/predict/{made.headers['location'].split('/')[-1]}").json()
    assert "Try a case with" in page
    assert form["model"] != other.json()["id"]
    assert session["model"]["id"] == form["model"]
    assert session["budget"]["limit"] == 220
    assert session["aim"]["mean_budget"] == 60
    cards = re.findall('class="card"><h3><a href="/ui/models/(mdl_[0-9a-f]+)"', page)
    assert cards[0] == form["model"]
    assert set(cards) == {form["model"], other.json()["id"]}


def test_a_model_without_patients_is_tried_at_the_knee(
    client: TestClient, section: str, model: Model
) -> None:
    assert section
    other = client.post("/models", json=model_to_json(replace(model, name="other")))
    model_id = other.json()["id"]
    token = token_of(client.get("/ui").text)

    made = client.post("/ui/try", data={"form_token": token, "model": model_id})

    session = client.get(f"/predict/{made.headers['location'].split('/')[-1]}").json()
    assert (session["aim"], session["budget"]["limit"]) == (None, 300)


def test_home_without_patients_shows_none(client: TestClient, model_id: str) -> None:
    """Nor cases that are called so but are open, or whose truth nobody told."""
    for number in (1, 2):
        wish = {"model": model_id, "budget": 60, "client_ref": f"Demo patient {number}"}
        made = client.post("/predict", json=wish).json()
    client.post(f"/predict/{made['id']}/stop", json={})

    assert section_of(client) == ""


def test_patients_who_are_asked_the_same_are_not_shown(
    client: TestClient, model_id: str
) -> None:
    for number in (1, 2):
        wish = {"model": model_id, "budget": 0, "client_ref": f"Demo patient {number}"}
        path = f"/predict/{client.post('/predict', json=wish).json()['id']}"
        client.post(f"{path}/stop", json={})
        client.put(f"{path}/outcome", json={"label": str(number % 2)})

    assert section_of(client) == ""


def test_an_erased_patient_is_gone_and_without_any_there_is_no_section(
    client: TestClient, section: str
) -> None:
    first = NAME.findall(section)[0]
    items = client.get("/predict?limit=50").json()["items"]
    ids = {item["client_ref"]: item["id"] for item in items}

    client.delete(f"/predict/{ids.pop(first)}")
    without = section_of(client)
    for name, id in ids.items():
        if NAME.fullmatch(name):
            client.delete(f"/predict/{id}")

    assert first not in NAME.findall(without)
    assert f"Of the {N_PATIENTS - 1} there are" in without
    assert section_of(client) == ""


@pytest.mark.parametrize("is_local", [False])
def test_who_may_not_read_cases_or_is_of_another_tenant_sees_none(
    client: TestClient, settings: Settings
) -> None:
    engine = client.app.state.engine  # type: ignore[attr-defined]  # of FastAPI
    with transaction(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, "clinic", datetime.now(UTC))
    play(settings, train_heart(), tenant_id)

    for scopes, tenant, is_shown in (
        (("predict:read", "models:read"), "clinic", True),
        (("predict:read",), "clinic", False),
        (("models:read", "predict:write"), "clinic", False),
        (("predict:read", "models:read"), "other", False),
    ):
        page = Visitor(client, *scopes, tenant=tenant).ask("GET", "/ui")[1]

        assert (HEADING in page) == is_shown, (scopes, tenant)
        assert ("/result" in page) == is_shown, (scopes, tenant)


@pytest.fixture
def shown(settings: Settings, browser: Browser) -> Iterator[Page]:
    """Home in a browser, with patients."""
    play(settings, train_heart())
    server = Server(settings)
    yield from open_page(browser, Site(server.url, ""))
    server.close()


def test_patients_are_accessible_and_fit_a_phone(shown: Page) -> None:
    for width in (1280, 375):
        shown.set_viewport_size({"width": width, "height": 800})
        shown.goto("/ui")
        assert shown.get_by_role("article").count() in (2, 3)
        tables = shown.get_by_role("article").get_by_role("table")
        assert tables.count() == shown.get_by_role("article").count()
        # No table is wider than its place.
        assert not shown.evaluate(
            "[...document.querySelectorAll('.patients .scroll')]"
            ".some((place) => place.scrollWidth > place.clientWidth)"
        )
        audit(shown)
