"""A service with providers, a vendor server that keeps a bill, and a buyer."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.buyer.buyer import RunBuyer
from askless.app.buyer.tracing import CallTracer
from askless.app.records import DEFAULT_TENANT, StoredProvider
from askless.app.settings.settings import Settings
from askless.app.store.buying import providers
from askless.app.store.database.engine import transaction
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.table.dataset import ClassLabel
from tests.app.buying.vendors import Vendor, Vendors
from tests.app.clinic import MakeApp, Put, on
from tests.small import ensemble_of

SHOP = Catalogue(
    features=(
        Feature("source", "category", cost=0, categories=("fair", "web")),
        Feature("size", group="firmo", cost=0, billing="per_call"),
        Feature(
            "industry",
            "category",
            group="firmo",
            cost=0,
            categories=("it", "law"),
            billing="per_call",
        ),
        Feature("visits", cost=1_000, least=0),
        Feature("score", cost=600_000),
    ),
    groups=(Group("firmo", price=50_000, billing="per_call"),),
    cost_unit="USD",
)
READS = {
    "firmo": {"size": "company.employees", "industry": "company.industry"},
    "visits": {"visits": "visits"},
    "score": {"score": "score"},
}
DOMAINS = [f"company-{number}.example" for number in range(30)]


def shop() -> Ensemble:
    """A model that asks for visits, the firm's size and industry, then a score."""
    stumps = (
        Stump(3, 10.5, (1,)),
        Stump(1, 100.5, (1,)),
        Stump(2, 1.0, (1,), is_category=True),
        Stump(4, 0.5, (1,)),
    )
    return ensemble_of(
        stumps,
        SHOP,
        classes=(ClassLabel("0", "bad"), ClassLabel("1", "good")),
        alphas=(0.5, 0.6, 0.4, 2.0),
        algorithm="adaboost_bt",
    )


def vendor(name: str, price_micros: int, **more: Any) -> Vendor:
    """A vendor of the shop that knows every domain."""
    answers = {
        domain: {
            "company": {"employees": 50 + 7 * number, "industry": "it"},
            "visits": number,
            "score": number / 30,
        }
        for number, domain in enumerate(DOMAINS)
    }
    return Vendor(name, more.pop("answers", answers), price_micros, **more)


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    with Vendors(
        vendor("firmo", 50_000, billing="per_call"),
        vendor("firmo2", 60_000, billing="per_call"),
        vendor("visits", 1_000),
        vendor("score", 600_000),
    ) as served:
        yield served


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(settings: Settings, vendors: Vendors, secrets: Path) -> Settings:
    hosts = [vendors.host]
    return settings.model_copy(update={"provider_hosts": hosts, "secrets": secrets})


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=True)


Provide = Callable[..., None]


@pytest.fixture
def provide(engine: sa.Engine, vendors: Vendors) -> Provide:
    """Store the providers of vendors, as their documents say."""

    def store(*names: str, **changes: Any) -> None:
        for name in names:
            fills = changes.get("fills", name.rstrip("2"))
            document = vendors.provider(
                name, READS[fills], **(changes | {"fills": fills})
            )
            key = f"prv_{name}"
            stored = StoredProvider(key, name, document, on(1), on(1))
            with transaction(engine, DEFAULT_TENANT) as db:
                providers.delete(db, name)
                providers.insert(db, stored)

    return store


@contextmanager
def buying(
    settings: Settings, engine: sa.Engine, tracer: CallTracer | None = None
) -> Iterator[RunBuyer]:
    """Run a buyer in a thread while the block does."""
    buyer = RunBuyer(settings, engine, tracer)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(buyer.work(),))
    thread.start()
    try:
        yield buyer
    finally:
        loop.call_soon_threadsafe(buyer.stop.set)
        thread.join()
        loop.close()


@pytest.fixture
def buyer(settings: Settings, engine: sa.Engine) -> Iterator[RunBuyer]:
    with buying(settings, engine) as running:
        yield running


Decide = Callable[..., dict[str, Any]]


@pytest.fixture
def decide(client: TestClient, put: Put, buyer: RunBuyer) -> Decide:
    """Start a run of a case, and wait for its end."""
    del buyer
    model = put(shop(), "shop")

    def run(domain: str = DOMAINS[20], **more: Any) -> dict[str, Any]:
        body = {"model": model, "budget": 1.0, "keys": {"domain": domain}, "run": True}
        headers = {"Prefer": "wait=20"}
        response = client.post("/predict", json=body | more, headers=headers)
        assert response.status_code == 200, response.text
        session: dict[str, Any] = response.json()
        return session

    return run
