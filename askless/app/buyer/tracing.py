"""Trace calls to providers for OpenTelemetry: one span each, where it is asked for."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from askless.app.records import StoredCall

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.export import SpanExporter

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAILED = ("released", "in_doubt")
MICROS = 1_000_000


class CallTracer:
    """Sends the span of each call: who was called, what came, what it cost.

    The packages are those of the extra `telemetry`.
    """

    def __init__(self, exporter: "SpanExporter | None" = None) -> None:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import (
            BatchSpanProcessor,
            SimpleSpanProcessor,
        )

        processor: SpanProcessor
        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
                OTLPSpanExporter,
            )

            processor = BatchSpanProcessor(OTLPSpanExporter())
        else:
            processor = SimpleSpanProcessor(exporter)
        self.spans = TracerProvider(shutdown_on_exit=False)
        self.spans.add_span_processor(processor)
        self.tracer = self.spans.get_tracer("askless.buyer")

    def trace(self, call: StoredCall) -> None:
        """Write the span of a call that has ended: no key, no value, no address."""
        from opentelemetry.trace import SpanKind, StatusCode

        if call.sent_at is None or call.ended_at is None:
            return
        attributes: dict[str, str | int | float | None] = {
            "call.provider": call.provider,
            "call.id": call.id,
            "call.state": call.state,
            "call.charged": call.charged / MICROS,
            "call.unit": call.unit,
            "call.attempts": call.attempts,
            "call.latency_ms": call.latency_ms,
            "http.response.status_code": call.status,
        }
        span = self.tracer.start_span(
            f"call {call.provider}",
            kind=SpanKind.CLIENT,
            start_time=count_nanoseconds(call.sent_at),
            attributes={
                name: value for name, value in attributes.items() if value is not None
            },
        )
        if call.state in FAILED:
            span.set_status(StatusCode.ERROR)
        span.end(count_nanoseconds(call.ended_at))

    def stop(self) -> None:
        """Send what is left."""
        self.spans.shutdown()


def count_nanoseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1) * 1_000
