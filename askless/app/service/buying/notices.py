"""Notices of the ends of runs, which webhooks carry."""

import base64
import binascii
import json
from pathlib import Path
from typing import Any, NamedTuple

from askless.app.documents.buying.templates import Placeholder
from askless.app.service.buying.calling.reading import MissingError, read_secret
from askless.app.service.loaded import LoadedModels
from askless.app.store import sessions
from askless.app.store.buying import deliveries, runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import from_micros

claim_due, note_attempt = deliveries.claim_due, deliveries.note_attempt
MARK = "whsec_"


class Notice(NamedTuple):
    """The body of a webhook, its address, and the name of its secret."""

    url: str
    secret: str
    body: dict[str, Any]


def make_notice(
    db: Transaction, loaded: LoadedModels, session_id: str
) -> Notice | None:
    """Return the notice of a run's end; None: it was erased."""
    run = runs.find(db, session_id)
    if run is None or run.webhook is None or run.ended_at is None:
        return None
    session = sessions.get(db, session_id)
    receipt = json.loads(run.receipt or "{}")
    shown = ("label", "display", "classes", "stop_reason", "hash")
    body = {
        "type": "run.ended",
        "timestamp": run.ended_at.isoformat(),
        "data": {
            "session": session_id,
            "model": loaded.get(db, session.model_id).name,
            "spent": from_micros(session.spent),
            "unit": session.unit,
            **{name: receipt.get(name) for name in shown},
            "receipt": f"/predict/{session_id}/receipt",
        },
    }
    return Notice(run.webhook["url"], run.webhook["secret"], body)


def read_secrets(folder: Path | None, name: str) -> list[str]:
    """Return the secrets that sign, one for each line of a file; none: it is missing.

    A new secret is added as a line before the old one is removed.
    """
    try:
        lines = read_secret(folder, Placeholder("secret", name)).split()
    except MissingError:
        return []
    return [line for line in lines if is_secret(line)]


def is_secret(text: str) -> bool:
    """Return whether a text is a secret of Standard Webhooks, with or without mark."""
    try:
        return bool(base64.b64decode(text.removeprefix(MARK) + "=="))
    except (binascii.Error, ValueError):
        return False
