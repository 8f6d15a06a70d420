"""Brings a database to the present schema."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

SCRIPTS = Path(__file__).resolve().parents[2] / "migrations"


def config(url: str) -> Config:
    made = Config()
    made.set_main_option("script_location", str(SCRIPTS))
    made.attributes["url"] = url
    return made


def migrate(url: str) -> None:
    """Upgrade to the newest schema; on one that is there already change nothing."""
    address = sa.make_url(url)
    if address.get_backend_name() == "sqlite" and address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    command.upgrade(config(url), "head")


def is_current(engine: sa.Engine) -> bool:
    """Whether a database has the newest schema."""
    head = ScriptDirectory.from_config(config("")).get_current_head()
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == head
