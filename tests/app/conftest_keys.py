"""Keys made for tests of who may call."""

from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from askless.app.service import keys
from askless.app.store.database.engine import transaction
from tests.app.clinic import Make


@pytest.fixture
def key(engine: sa.Engine) -> Make:
    """Make a key and give the header that carries it."""

    def make(*scopes: str, tenant: str = "default", **more: Any) -> dict[str, str]:
        now = datetime.now(UTC)
        wish = keys.Wish("a key", scopes or keys.SCOPES, **more)
        with transaction(engine, None) as db:
            tenant_id = keys.get_or_create_tenant(db, tenant, now)
        with transaction(engine, tenant_id) as db:
            made = keys.create(db, wish, now)
        return {"Authorization": f"Bearer {made.token}", "X-Key": made.key.id}

    return make
