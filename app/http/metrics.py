"""Figures of one application, for Prometheus. Labels are from closed sets."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from app.http.edge import OTHER, Exchange

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
MOST_UNITS = 20


class Metrics:
    """Figures of one application."""

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

    def add(self, exchange: Exchange) -> None:
        """Count a request that is over; its labels are words of ours alone."""
        route, charged = exchange.route or "none", exchange.fields.get("charged", 0.0)
        self.requests.labels(exchange.method, route, str(exchange.status)).inc()
        self.seconds.labels(exchange.method, route).observe(exchange.seconds)
        if charged:
            self.charged.labels(self.unit_label(exchange.fields["unit"])).inc(charged)

    def unit_label(self, unit: str) -> str:
        """Return a unit, or "other" beyond the first few: they are users' words."""
        if unit not in self.units:
            if len(self.units) == MOST_UNITS:
                return OTHER
            self.units.add(unit)
        return unit
