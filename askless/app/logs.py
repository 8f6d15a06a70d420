"""Logs: one JSON line per event, an event name and fields, to stderr."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("askless")


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
            kind, _, trace = record.exc_info
            line["error"] = None if kind is None else kind.__qualname__
            line["trace"] = "".join(traceback.format_tb(trace))
        return json.dumps(line, ensure_ascii=False, default=str)


def configure() -> None:
    """Send every log record of the process to stderr as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # Libraries for HTTP log addresses, which may name a patient.
    for noisy in ("alembic", "authlib", "httpx", "httpx2", "mcp", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def log(event: str, level: int = logging.INFO, **fields: object) -> None:
    """Log one event with fields; none may hold the value of a feature."""
    LOGGER.log(level, event, extra={"fields": fields})
