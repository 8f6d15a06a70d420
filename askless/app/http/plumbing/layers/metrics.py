"""Count figures for Prometheus: this process's requests, the installation's load.

Labels are from closed sets.
"""

import time
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from askless.app.http.plumbing.layers.edge import OTHER, Exchange
from askless.app.records import CallState
from askless.app.service.operations import Load

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
MOST_UNITS = 20
# The load is counted in the database, and not for every scrape.
COUNT_EVERY_S = 5.0
LOAD = {
    "queued": (
        "askless_jobs_queued",
        "Trainings and other jobs that wait for a worker.",
    ),
    "queue_age_s": (
        "askless_queue_age_seconds",
        "How long the job has waited that waits longest.",
    ),
    "running": ("askless_jobs_running", "Trainings and other jobs that a worker has."),
    "workers": ("askless_workers", "Workers that are alive."),
    "open_sessions": ("askless_sessions_open", "Sessions with a question, unexpired."),
    "changed_providers": (
        "askless_providers_changed",
        "Providers whose misses, failures, latency or price have changed of late.",
    ),
}


class Metrics:
    """Prometheus metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.units: set[str] = set()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "askless_requests", "Requests answered.", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "askless_request_seconds",
            "Time to the end of the response; event streams included.",
            ("method", "route"),
            registry=self.registry,
            buckets=SECONDS,
        )
        self.charged = Counter(
            "askless_charged_units",
            "Charged by answers.",
            ("unit",),
            registry=self.registry,
        )

        self.database_up = Gauge(
            "askless_database_up",
            "Whether the load could be counted; if not, its figures are old.",
            registry=self.registry,
        )
        self.load = {
            name: Gauge(*texts, registry=self.registry) for name, texts in LOAD.items()
        }
        self.calls = Gauge(
            "askless_calls",
            "Calls to providers of the last five minutes.",
            ("state",),
            registry=self.registry,
        )
        self.load_due_at = 0.0

    def is_load_due(self) -> bool:
        return time.monotonic() >= self.load_due_at

    def set_load(self, load: Load | None) -> None:
        """Set the gauges of the load; None: the database can't be reached."""
        self.load_due_at = time.monotonic() + COUNT_EVERY_S
        self.database_up.set(load is not None)
        if load is None:
            return
        for name, gauge in self.load.items():
            gauge.set(getattr(load, name))
        for state in get_args(CallState):
            self.calls.labels(state).set(load.calls.get(state, 0))

    def count_request(self, exchange: Exchange) -> None:
        """Count a finished request; labels never hold a caller's text."""
        route, charged = exchange.route or "none", exchange.fields.get("charged", 0.0)
        self.requests.labels(exchange.method, route, str(exchange.status)).inc()
        self.seconds.labels(exchange.method, route).observe(exchange.seconds)
        if charged:
            self.charged.labels(self.unit_label(exchange.fields["unit"])).inc(charged)

    def unit_label(self, unit: str) -> str:
        """Return a unit as a label, or "other" if `MOST_UNITS` others are known."""
        if unit not in self.units:
            if len(self.units) == MOST_UNITS:
                return OTHER
            self.units.add(unit)
        return unit
