"""The demo of the service: it queues trainings on its tables, for its tenant and key.

The vendors of its leads are a process of its own, and providers call them.

If a start is killed, the next one finishes it; a further one changes nothing.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import sqlalchemy as sa

from askless.app.cli.serving import patients
from askless.app.cli.serving.keys import open_engine
from askless.app.demo import leads
from askless.app.demo.leads import VENDORS, VendorTerms
from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.text import parse_spec
from askless.app.errors import UnknownKeyError
from askless.app.processes.limited import IsWanted
from askless.app.processes.ports import bind_port
from askless.app.records import SessionFilter, StoredKey, StoredProvider
from askless.app.service import datasets, keys, models, sessions
from askless.app.service.jobs import trainings
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import lists
from askless.app.settings.home import DEMO_KEY
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.buying import providers
from askless.app.store.database.engine import transaction
from askless.app.store.database.transactions import Transaction
from askless.app.terminal.demo import DATA, read_trained_rows
from askless.app.uploads.parsing import (
    JudgedTable,
    ReferredTable,
    TableReader,
    TableSource,
    check_file,
    make_reader,
)
from askless.core.catalogue.prices import from_micros
from askless.core.model.model import Model

TENANT = "demo"
TABLES = ("heart", "breast-cancer", "diabetes")
# Home begins with a lead: its training is the first, and takes the least time.
LEADS = "leads"
HOST = "127.0.0.1"
HOSTS = "ASKLESS_PROVIDER_HOSTS"
# Processes may share a database: each that makes calls has its own vendors here.
SHARED_PORT = 9009
STARTED_WITHIN_S = 20.0
# The most that a vendor of the demo may cost in a day, in dollars.
CEILING = 25
# The case that is ready to be answered: its table, its model, its name. Its budget in
# CAD where its model has no terms under which cases differ.
HEART, MODEL, CASE, CASE_BUDGET = "heart", "heart-cleveland", "Demo patient", 60


class DemoReader(TableReader):
    """Reads the demo's own tables in this process; uploads are read by a child."""

    def judge(
        self, source: TableSource, raw: Mapping[str, Any], is_wanted: IsWanted
    ) -> JudgedTable:
        del is_wanted
        assert not isinstance(source, ReferredTable), "ours are read whole"
        return check_file(source, self.bounds, dict(raw))


def seed_demo(settings: Settings) -> None:
    """Make the demo's tenant with its key, and enqueue its trainings."""
    with open_engine(settings) as engine:
        with transaction(engine, None) as db:
            tenant_id = keys.get_or_create_tenant(db, TENANT, datetime.now(UTC))
        store_demo_key(settings.home_dir / DEMO_KEY, engine, tenant_id)
        if not settings.is_embedded:
            host = f"{HOST}:{SHARED_PORT}"
            store_providers(engine, tenant_id, host, datetime.now(UTC))
        enqueue_missing_trainings(settings, engine, tenant_id)


def get_tenant_id(settings: Settings) -> str:
    with open_engine(settings) as engine, transaction(engine, None) as db:
        return keys.get_or_create_tenant(db, TENANT, datetime.now(UTC))


def list_demo_lines(settings: Settings, address: str) -> list[str]:
    """Say where the demo is, its key, and its prepared case."""
    path = settings.home_dir / DEMO_KEY
    with open_engine(settings) as engine, transaction(engine, None, is_read=True) as db:
        key = read_valid_key(db, path)
    if key is None or keys.describe_validity(key, datetime.now(UTC)) != "yes":
        return [
            "The demo has no valid key; "
            f"askless keys create NAME --tenant {TENANT} makes one."
        ]
    with open_engine(settings) as engine:
        case_lines = list_case_lines(settings, engine, key.tenant_id, address)
    token = path.read_text(encoding="ascii").strip()
    return [*case_lines, f"Demo: open {address}, key {token}"]


def list_case_lines(
    settings: Settings, engine: sa.Engine, tenant_id: str, address: str
) -> list[str]:
    """Play the patients; return lines about the prepared case, [] before it."""
    at = settings.moment_at(datetime.now(UTC))
    patients.play_patients(engine, tenant_id, at, TABLES)
    case_id = prepare_case(settings, engine, tenant_id)
    if case_id is None:
        return []
    return [f"A first case is ready: {address}/ui/sessions/{case_id}"]


def store_demo_key(path: Path, engine: sa.Engine, tenant_id: str) -> None:
    """Make the key and write it to a file, unless the file has a known one.

    The file is written before the commit: if a start is killed in between, the next one
    makes another key. A revoked key is known, and stays revoked.
    """
    with transaction(engine, tenant_id) as db:
        if read_valid_key(db, path) is None:
            new_key = keys.create(db, keys.Wish(TENANT), datetime.now(UTC))
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.write_text(f"{new_key.token}\n", encoding="ascii")
            partial.replace(path)


def read_valid_key(db: Transaction, path: Path) -> StoredKey | None:
    """Return the key in the file; None if the database does not know it."""
    try:
        return keys.identify_key(db, path.read_text("utf-8", "replace").strip())
    except (FileNotFoundError, UnknownKeyError):
        return None


def enqueue_missing_trainings(
    settings: Settings, engine: sa.Engine, tenant_id: str
) -> list[str]:
    """Enqueue trainings of tables that have none; return the models' names."""
    names = []
    for table in (LEADS, *TABLES):
        raw = parse_spec((DATA / f"{table}.json").read_bytes())
        with transaction(engine, tenant_id, is_read=True) as db:
            if has_training_or_model(db, raw["name"]):
                continue
        order, upload = make_training_order(settings, table)
        with transaction(engine, tenant_id) as db:
            enqueue_or_store(db, Blobs(settings.blobs_url), order, upload)
        names.append(order.table.spec.name)
    return names


def store_trained(
    settings: Settings, engine: sa.Engine, tenant_id: str, model: Model
) -> None:
    """Store the model that the demo has trained, its rows and its training.

    With its rows it can be refreshed. Nothing is stored where its name is taken.
    """
    order, upload = make_training_order(settings, HEART)
    with transaction(engine, tenant_id) as db:
        enqueue_or_store(db, Blobs(settings.blobs_url), order, upload, model)


def make_training_order(
    settings: Settings, table: str
) -> tuple[trainings.Order, datasets.Upload]:
    """Check a table of the demo with its spec, without the patients."""
    usual, stream = make_reader(settings), read_rows(table)
    reader = DemoReader(usual.limits, usual.bounds)
    raw = parse_spec((DATA / f"{table}.json").read_bytes())
    order, facts = trainings.check_training(reader, raw, stream)
    return order, datasets.make_upload(f"{table}.csv", stream, facts)


def read_rows(table: str) -> BytesIO:
    """Return the rows of a table that training sees, as CSV."""
    return leads.read_training_rows() if table == LEADS else read_trained_rows(table)


def enqueue_or_store(
    db: Transaction,
    blobs: Blobs,
    order: trainings.Order,
    upload: datasets.Upload,
    model: Model | None = None,
) -> None:
    """Enqueue a training, or store it with the model that came of it already."""
    models.lock_name(db, order.table.spec.name)
    # Another start may have come first.
    if has_training_or_model(db, order.table.spec.name):
        return
    now = datetime.now(UTC)
    dataset = datasets.store(db, blobs, upload, now)
    if model is None:
        trainings.start(db, order, dataset.id, now)
    else:
        trainings.store_finished(db, order, dataset.id, model, now)


def has_training_or_model(db: Transaction, name: str) -> bool:
    """Return whether a name has a model, or a training that did not fail."""
    return models.is_name_taken(db, name) or trainings.is_begun(db, name)


def prepare_case(settings: Settings, engine: sa.Engine, tenant_id: str) -> str | None:
    """Return an open case of the demo, made if absent; None without a model."""
    at, loaded = settings.moment_at(datetime.now(UTC)), LoadedModels()
    with transaction(engine, tenant_id) as db:
        if not models.is_name_taken(db, MODEL):
            return None
        filters = SessionFilter("open", None, CASE)
        for session in lists.page(db, 1, None, at, filters).items:
            return session.id
        model = models.load(db, loaded, MODEL)
        terms = patients.terms_of_difference(model, HEART) or {"budget": CASE_BUDGET}
        case_terms = {"model": MODEL, "client_ref": CASE} | terms
        request = PredictRequest.model_validate(case_terms)
        opened = sessions.start(db, loaded, request, at)
        return opened.session.id


class Vending(NamedTuple):
    """Settings under which vendors may be called, and the command of their server."""

    settings: Settings
    command: Sequence[str]


def open_vendors(settings: Settings, tenant_id: str) -> Vending:
    """Store the providers of a tenant at a free port, and let it be called."""
    with bind_port(HOST, 0) as bound:
        port = bound.getsockname()[1]
    with open_engine(settings) as engine:
        store_providers(engine, tenant_id, f"{HOST}:{port}", datetime.now(UTC))
    return allow_vendors(settings, port)


def allow_vendors(settings: Settings, port: int = SHARED_PORT) -> Vending:
    """Let vendors be called at a port of this machine.

    A buyer that is started from here reads this from the environment.
    """
    host = f"{HOST}:{port}"
    hosts = [*settings.provider_hosts, host]
    os.environ[HOSTS] = json.dumps(hosts)
    command = (sys.executable, "-m", "askless.app.demo.vendors", str(port))
    return Vending(settings.model_copy(update={"provider_hosts": hosts}), command)


def wait_for_vendors(within_s: float = STARTED_WITHIN_S) -> None:
    """Wait until vendors listen: a buyer that comes first would find them failing."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, SHARED_PORT), 1):
            return
        time.sleep(0.1)


def store_providers(
    engine: sa.Engine, tenant_id: str, host: str, now: datetime
) -> None:
    """Store the demo's providers. One that a user has put by the same name stays."""
    with transaction(engine, tenant_id) as db:
        for vendor in VENDORS:
            document = write_document(vendor, host)
            key = providers.make_id()
            new = StoredProvider(key, vendor.name, document, now, now)
            stored = providers.find_locked(db, vendor.name)
            if stored is None:
                providers.insert(db, new)
            elif is_of_demo(stored):
                # Each start has a port of its own, and no failures yet.
                fresh = replace(new, id=stored.id, created_at=stored.created_at)
                providers.change(db, stored.id, **asdict(fresh))


def is_of_demo(stored: StoredProvider) -> bool:
    address = urlsplit(stored.document["request"]["url"])
    return (address.hostname, address.path) == (HOST, f"/v1/{stored.name}")


def write_document(vendor: VendorTerms, host: str) -> dict[str, Any]:
    """Return a provider as it is put."""
    return {
        "fills": vendor.name,
        "request": {
            "method": "POST",
            "url": f"http://{host}/v1/{vendor.name}",
            "json": {"domain": "{key.domain}"},
        },
        "read": {name: f"company.{name}" for name in vendor.features},
        "empty": "company == null",
        "price": from_micros(vendor.price),
        "billing": vendor.billing,
        "timeout_s": 2.0,
        "attempts": 2,
        "idempotency_header": "Idempotency-Key",
        "ceilings": {"day": CEILING},
    }
