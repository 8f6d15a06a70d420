"""Home decides a lead of the demo by a run, and compares it with a waterfall."""

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.cli.serving.demo import store_providers
from askless.app.demo import leads, vendors, waterfall
from askless.app.documents.files import load_raw_spec
from askless.app.documents.spec.spec import read_spec
from askless.app.records import DEFAULT_TENANT
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from askless.app.uploads.streams import read_columns
from askless.core.catalogue.prices import from_micros
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.pipeline.train import train
from askless.core.table.check import CheckedTable
from tests.app.buying.conftest import buying
from tests.app.buying.test_receipt_pages import read_page, words_of
from tests.app.clinic import MakeApp
from tests.app.tenants import store_model
from tests.pages.site import post
from tests.small import pull

pytest_plugins = ["tests.app.conftest_http"]

DEMO = Path(leads.__file__).parent
QUICK = {"algorithm": "panels", "validation": {"folds": 0}}


@cache
def train_leads() -> Model:
    """A model of some leads that takes an aim."""
    table = leads.read_training_rows().getvalue().splitlines(keepends=True)
    spec = read_spec(load_raw_spec(DEMO / "leads.json") | QUICK)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "leads.csv"
        path.write_bytes(b"".join(table[:401]))
        columns = read_columns(path, spec.table.text_columns)
    dataset = check_training(columns, spec).dataset
    _, model = pull(train(CheckedTable(dataset, None, ()), spec))
    return model


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The demo's vendors, without their waits."""
    names = (vendor.name for vendor in leads.VENDORS)
    monkeypatch.setattr(vendors, "LATENCIES_S", dict.fromkeys(names, 0.0))
    monkeypatch.setattr(vendors, "HANGS_S", 0.0)
    server = vendors.VendorServer(0, vendors.Vendors(lambda: 0.0))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def settings(settings: Settings, shop: str) -> Settings:
    return settings.model_copy(update={"provider_hosts": [shop]})


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=True)


@pytest.fixture
def at_demo(
    engine: sa.Engine, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store_providers(engine, DEFAULT_TENANT, shop, datetime.now(UTC))
    with transaction(engine, DEFAULT_TENANT) as db:
        store_model(db, train_leads(), datetime.now(UTC))


def test_home_has_leads_only_where_their_vendors_are(
    client: TestClient, engine: sa.Engine
) -> None:
    with transaction(engine, DEFAULT_TENANT) as db:
        store_model(db, replace(train_leads(), name="leads"), datetime.now(UTC))

    assert "Decide a lead" not in read_page(client, "/ui")


@pytest.mark.usefixtures("at_demo")
def test_a_lead_is_decided_by_a_run_and_by_the_waterfall(
    client: TestClient, settings: Settings, engine: sa.Engine
) -> None:
    place = 1
    lead = leads.list_shown()[place]
    home = read_page(client, "/ui?lead=2")

    started = post(client, "/ui/leads", lead=str(place + 1))
    (session_id,) = set(re.findall(r"ses_[0-9a-f]+", str(started.url)))
    with buying(settings, engine):
        session = client.get(f"/predict/{session_id}").json()
        for _ in range(400):
            if session["state"] == "closed":
                break
            threading.Event().wait(0.05)
            session = client.get(f"/predict/{session_id}").json()
    words = words_of(read_page(client, f"/ui/sessions/{session_id}/receipt"))

    other = waterfall.decide(place)
    assert f'<option value="2" selected>{lead.name}' in home
    assert home.index("Decide a lead") < home.index("It asks")
    assert session["aim"]["error_price"] == from_micros(leads.ERROR_PRICE)
    assert f"Decided: {lead.name}" in words
    assert f"It would have paid {from_micros(other.spent)} USD" in words
    assert f"It was a {lead.outcome} lead" in words
    assert f"{', '.join(other.vendors)}. Its rule:" in words
    assert "With this aim cases cost" in words
    assert "By the waterfall they cost 0.11 USD, and 20 of 100 are wrong" in words


@pytest.mark.usefixtures("at_demo")
def test_there_are_no_more_leads_than_ten(client: TestClient) -> None:
    assert post(client, "/ui/leads", lead="11").status_code == 404
