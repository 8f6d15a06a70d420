"""What the OpenAPI document says holds: Schemathesis sends what it allows and forbids.

`make test-schema`. What is let pass is in schemathesis.toml, with its reasons.
"""

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from askless.app.records import DEFAULT_TENANT
from askless.app.service import keys
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from tests.app.servers import Server

pytestmark = pytest.mark.schema
ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("SCHEMA", ROOT / "build" / "schema" / "bin")).resolve()
EXAMPLES = 20
LIMIT_S = 600


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    made = Server(settings.model_copy(update={"authentication": True}))
    yield made
    made.close()


@pytest.fixture
def token(engine: sa.Engine) -> str:
    wish = keys.Wish("schema", limits={"requests_per_minute": 10**6})
    with transaction(engine, DEFAULT_TENANT) as db:
        return keys.create(db, wish, datetime.now(UTC)).token


def test_every_answer_is_as_the_document_says(server: Server, token: str) -> None:
    command = [
        *(str(TOOLS / "schemathesis"), "run", f"{server.url}/openapi.json"),
        *("--header", f"Authorization: Bearer {token}"),
        *("--max-examples", str(EXAMPLES)),
        *("--continue-on-failure", "--no-color", "--seed", "1"),
        "--wait-for-schema=60",
    ]

    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )

    assert done.returncode == 0, done.stdout[-30_000:] + done.stderr[-3_000:]
