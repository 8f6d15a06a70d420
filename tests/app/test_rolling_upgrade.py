"""This code under the schema of the next: a migration that is not there yet."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.store.database.migrate import (
    SCRIPTS,
    build_config,
    list_revisions,
    migrate,
)
from tests.app.clinic import Answer, Start
from tests.app.jobs import wait

pytest_plugins = ["tests.app.conftest_http"]
OURS, NEXT = list_revisions()[0], "9999"
MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{NEXT}", "{OURS}"
branch_labels = depends_on = None
{{oldest}}

def upgrade():
    op.add_column("sessions", sa.Column("ward", sa.String(20)))


def downgrade():
    op.drop_column("sessions", "ward")
'''


def migrate_on(app: FastAPI, folder: Path, oldest: str | None) -> None:
    """Migrate as the next code does, which says that `oldest` can work on it too."""
    scripts = folder / "migrations"
    shutil.copytree(SCRIPTS, scripts)
    line = "" if oldest is None else f'oldest_code = "{oldest}"\n'
    (scripts / "versions" / "next.py").write_text(MIGRATION.format(oldest=line))
    command.upgrade(build_config(app.state.settings.url, scripts), "head")


@pytest.mark.parametrize("oldest", [None, OURS], ids=["as before", "ours"])
def test_old_code_goes_on_under_a_schema_that_says_so(
    app: FastAPI,
    client: TestClient,
    start: Start,
    answer: Answer,
    tmp_path: Path,
    oldest: str | None,
) -> None:
    wait(lambda: client.get("/readyz").status_code == 200)
    session = start(60.0)

    migrate_on(app, tmp_path, oldest)

    assert client.get("/readyz").status_code == 200
    assert answer(session, ("chol", 233)).status_code == 200
    assert start(60.0)["state"] == "open"


def test_old_code_is_not_ready_under_a_schema_of_no_use_to_it(
    app: FastAPI, client: TestClient, tmp_path: Path
) -> None:
    wait(lambda: client.get("/readyz").status_code == 200)

    migrate_on(app, tmp_path, NEXT)

    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["detail"] == "Not ready: migrations."


def test_old_code_that_starts_once_more_leaves_the_schema_as_it_is(
    app: FastAPI, client: TestClient, engine: sa.Engine, tmp_path: Path
) -> None:
    migrate_on(app, tmp_path, OURS)

    migrate(app.state.settings.url)

    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version")
        assert found.scalars().all() == [NEXT]
    wait(lambda: client.get("/readyz").status_code == 200)
