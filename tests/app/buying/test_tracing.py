"""Spans of calls: price and result of each, no key and no secret, only if asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from askless.app.buyer.buyer import RunBuyer
from askless.app.buyer.tracing import CallTracer
from askless.app.settings.settings import Settings
from tests.app.buying.conftest import DOMAINS, Decide, Provide, buying
from tests.app.buying.test_webhooks import wait_until
from tests.app.buying.vendors import Vendors, fails
from tests.app.test_telemetry import Collector
from tests.app.test_telemetry import collector as collector

pytest.importorskip("opentelemetry.sdk")
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # an extra
    InMemorySpanExporter,
)

pytest_plugins = ["tests.app.conftest_http"]
CANARY = "canary-4711"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def buyer(
    settings: Settings, engine: sa.Engine, exporter: InMemorySpanExporter
) -> Iterator[RunBuyer]:
    with buying(settings, engine, CallTracer(exporter)) as running:
        yield running


def test_each_call_has_a_span_with_its_price_and_result(
    decide: Decide,
    provide: Provide,
    vendors: Vendors,
    exporter: InMemorySpanExporter,
    secrets: Path,
) -> None:
    (secrets / "KEY").write_text(f"{CANARY}\n")
    provide("firmo", "visits", "score")
    vendors.script("visits", fails(500))

    decide(DOMAINS[20])

    # The last one is written once its run has ended.
    wait_until(lambda: len(exporter.get_finished_spans()) >= 3)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert len(spans) == len(exporter.get_finished_spans()) == 3
    firmo: dict[str, Any] = dict(spans["call firmo"].attributes or {})
    assert firmo["call.provider"] == "firmo"
    assert firmo["call.state"] == "settled"
    assert (firmo["call.charged"], firmo["call.unit"]) == (0.05, "USD")
    assert firmo["call.latency_ms"] >= 0
    failed = dict(spans["call visits"].attributes or {})
    assert failed["call.state"] == "released"
    assert not spans["call visits"].status.is_ok
    assert all(span.end_time >= span.start_time for span in spans.values())  # type: ignore[operator]  # they have ended
    texts = "".join(span.to_json() for span in spans.values())
    assert not any(word in texts for word in (DOMAINS[20], CANARY, vendors.host))


def test_spans_go_to_the_collector_of_the_environment(
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    decide: Decide,
    provide: Provide,
    buyer: RunBuyer,
) -> None:
    address = f"http://127.0.0.1:{collector.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    buyer.tracer = CallTracer()
    provide("firmo", "visits", "score")

    decide(DOMAINS[20])
    buyer.tracer.stop()

    assert b"call firmo" in collector.found["/v1/traces"]


def test_without_a_tracer_nothing_is_traced(
    decide: Decide, provide: Provide, buyer: RunBuyer, exporter: InMemorySpanExporter
) -> None:
    buyer.tracer = None
    provide("firmo", "visits", "score")

    decide(DOMAINS[20])

    assert exporter.get_finished_spans() == ()
