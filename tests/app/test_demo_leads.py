"""The demo's leads are made up, its vendors misbehave, and its rival is tuned."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path

import numpy as np
import pytest

from askless.app.demo import leads, vendors, waterfall
from askless.app.demo.leads import ERROR_PRICE, N_SHOWN, N_TRAINING, VENDORS
from askless.app.documents.files import load_spec
from askless.app.uploads.streams import read_columns
from askless.core.catalogue.prices import from_micros
from askless.core.pipeline.check import check_training

DEMO = Path(leads.__file__).parent
ROWS = np.arange(N_TRAINING)
BY_NAME = {vendor.name: vendor for vendor in VENDORS}


def test_the_spec_fits_the_rows_and_sells_what_the_vendors_do(tmp_path: Path) -> None:
    table = tmp_path / "leads.csv"
    table.write_bytes(leads.read_training_rows().getvalue())
    spec = load_spec(DEMO / "leads.json")

    dataset = check_training(read_columns(table, spec.table.text_columns), spec).dataset

    catalogue = dataset.catalogue
    sold = {
        group.name: (group.price, group.billing, tuple(members))
        for group in catalogue.groups
        if (members := [f.name for f in catalogue.features if f.group == group.name])
    }
    assert dataset.n_samples == N_TRAINING
    assert sold == {v.name: (v.price, v.billing, v.features) for v in VENDORS}
    total = from_micros(sum(vendor.price for vendor in VENDORS))
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    assert f"Everything together costs {total}." in readme


def test_empty_answers_go_together_and_as_often_as_is_said() -> None:
    columns = leads.draw_leads().columns
    is_empty = {v.name: np.isnan(columns[v.features[0]]) for v in VENDORS}

    shares = {name: empty.mean() for name, empty in is_empty.items()}
    both = (is_empty["firmo"] & is_empty["webprobe"]).mean()

    assert shares == pytest.approx({v.name: 1 - v.coverage for v in VENDORS}, abs=0.002)
    assert both > 2 * shares["firmo"] * shares["webprobe"]


def test_shown_leads_are_not_trained_on() -> None:
    trained = leads.read_training_rows().getvalue().splitlines()

    assert len(trained) == 1 + N_TRAINING
    assert len(leads.draw_leads().sources) == N_TRAINING + N_SHOWN
    assert len({lead.domain for lead in leads.list_shown()}) == N_SHOWN


def test_no_other_rule_of_the_waterfall_serves_the_training_rows_better() -> None:
    everything = waterfall.WaterfallRule(
        tuple(range(len(VENDORS))), np.inf, len(VENDORS)
    )
    nothing = everything._replace(most=0)

    best = waterfall.mean_cost(waterfall.tune(), ROWS)

    assert best < waterfall.mean_cost(nothing, ROWS)
    assert best < waterfall.mean_cost(everything, ROWS)
    assert all(best <= waterfall.mean_cost(r, ROWS) for r in waterfall.list_rules())
    assert best < 0.25 * ERROR_PRICE


def test_the_waterfall_is_measured_on_leads_that_it_was_not_tuned_on() -> None:
    spent, error = waterfall.measure()

    on_others = spent + ERROR_PRICE * error

    assert waterfall.mean_cost(waterfall.tune(), ROWS) < on_others < 0.3 * ERROR_PRICE


def test_the_waterfall_pays_for_empty_answers_as_they_are_billed() -> None:
    rule = waterfall.WaterfallRule(tuple(range(len(VENDORS))), np.inf, len(VENDORS))
    rows = np.arange(N_TRAINING, N_TRAINING + N_SHOWN)

    spent, _, counts = waterfall.ask_in_order(waterfall.score(), rule, rows)

    assert set(counts) == {len(VENDORS)}
    assert spent.tolist() == [
        sum(
            vendor.price
            for vendor in VENDORS
            if lead.answers[vendor.name] is not None or vendor.billing == "per_call"
        )
        for lead in leads.list_shown()
    ]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(vendors, "LATENCIES_S", dict.fromkeys(BY_NAME, 0.0))
    monkeypatch.setattr(vendors, "HANGS_S", 0.0)
    server = vendors.VendorServer(0, vendors.Vendors(clock))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def ask(shop: str, vendor: str, domain: str, key: str = "k") -> tuple[int, object]:
    connection = HTTPConnection(shop, timeout=5)
    headers = {"Idempotency-Key": key}
    body = json.dumps({"domain": domain})
    try:
        connection.request("POST", f"/v1/{vendor}", body, headers)
        answer = connection.getresponse()
        return answer.status, json.load(answer)
    finally:
        connection.close()


def test_vendors_answer_what_the_lead_has(shop: str) -> None:
    for lead in leads.list_shown():
        for name in ("mailcheck", "firmo"):
            assert ask(shop, name, lead.domain) == (
                200,
                {"company": lead.answers[name]},
            )
    assert ask(shop, "firmo", "else.example") == (200, {"company": None})
    assert ask(shop, "nobody", "else.example")[0] == 404


def test_intent_is_down_for_a_while(shop: str, clock: Clock) -> None:
    (lead, *_) = leads.list_shown()
    statuses = []
    for clock.now in (0, 39, 41, 59, 61, 161):
        statuses.append(ask(shop, "intent", lead.domain)[0])

    assert statuses == [200, 200, 503, 503, 200, 503]


def test_registry_hangs_until_it_is_asked_again_with_the_key(shop: str) -> None:
    hanging = leads.list_shown()[1]

    with pytest.raises(RemoteDisconnected):
        ask(shop, "registry", hanging.domain)
    again = ask(shop, "registry", hanging.domain)
    with pytest.raises(RemoteDisconnected):
        ask(shop, "registry", hanging.domain, "other key")

    assert again == (200, {"company": hanging.answers["registry"]})
