"""Logs: one line per event, an event name and fields, to stderr.

JSON for programs, short and plain in a terminal.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any

LOGGER = logging.getLogger("askless")
# Errors of a group whose places are logged.
MOST_GROUPED = 5


def list_grouped(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group and of those in it, or an error itself."""
    if isinstance(error, BaseExceptionGroup):
        for grouped in error.exceptions:
            yield from list_grouped(grouped)
    else:
        yield error


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; of exceptions only class and places."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            kind, error, trace = record.exc_info
            line["error"] = None if kind is None else kind.__qualname__
            traces = [trace]
            if isinstance(error, BaseExceptionGroup):
                grouped = [*list_grouped(error)][:MOST_GROUPED]
                line["errors"] = [type(cause).__qualname__ for cause in grouped]
                traces += [cause.__traceback__ for cause in grouped]
            lines = chain.from_iterable(map(traceback.format_tb, traces))
            line["trace"] = "".join(lines)
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainLines(JsonLines):
    """Formats a record as a short line for a person; with the same fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = json.loads(super().format(record))
        event, trace = line.pop("event"), line.pop("trace", "")
        at = datetime.fromisoformat(line.pop("at")).astimezone()
        level = line.pop("level")
        words = [f"{at:%H:%M:%S}", *([] if level == "info" else [level]), event]
        words += [f"{name}={field}" for name, field in line.items()]
        return "\n".join(filter(None, (" ".join(words), trace.rstrip())))


def configure_logging(*, is_beside: bool = False) -> None:
    """Send every log record of the process to stderr.

    In a terminal uvicorn, and a worker beside a server, say only what is wrong: the
    addresses stay the last lines.
    """
    is_read_by_person = sys.stderr.isatty()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines() if is_read_by_person else JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    if is_read_by_person:
        for quiet in ("uvicorn", *(["askless"] if is_beside else [])):
            logging.getLogger(quiet).setLevel(logging.WARNING)
    # Libraries for HTTP log addresses, which may name a patient.
    for noisy in ("alembic", "authlib", "httpx", "httpx2", "mcp", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def log(event: str, level: int = logging.INFO, **fields: object) -> None:
    """Log one event with fields; none may hold the value of a feature."""
    LOGGER.log(level, event, extra={"fields": fields})
