"""Upgrade a database to the current schema."""

from functools import cache
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from askless.app.store.database.tables import metadata
from askless.core.errors import Refusal, RefusedError

# Its only row has the oldest schema whose code can work on the present one.
schema_state = sa.Table(
    "schema_state", metadata, sa.Column("oldest_code", sa.String(32), primary_key=True)
)

OTHER_SCHEMA = (
    "must have a schema of this version of Askless: use the version that made it, or "
    "name a new database by ASKLESS_HOME or ASKLESS_DATABASE_URL"
)
SCRIPTS = Path(__file__).resolve().parents[3] / "migrations"


def build_config(url: str, scripts: Path = SCRIPTS) -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts))
    config.attributes["url"] = url
    return config


def migrate(url: str) -> None:
    """Upgrade a database to the newest schema that this code knows.

    A later schema that still serves this code is left alone: a process of the old code
    may start while the next version is rolled out.

    Raises RefusedError for any other schema that this code does not know.
    """
    address = sa.make_url(url)
    if address.get_backend_name() == "sqlite" and address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    refuse_other_schema(engine)
    if not is_served(engine):
        command.upgrade(build_config(url), "head")


def refuse_other_schema(engine: sa.Engine) -> None:
    """Raise RefusedError if a schema is unknown and does not serve this code."""
    with engine.connect() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision not in (None, *list_revisions()) and not is_served(engine):
        received = f"schema {revision}, not {list_revisions()[0]}"
        raise RefusedError([Refusal("database", OTHER_SCHEMA, received)])


@cache
def list_revisions() -> tuple[str, ...]:
    """Return the revisions of the schema that this code knows, newest first."""
    scripts = ScriptDirectory.from_config(build_config(""))
    return tuple(script.revision for script in scripts.walk_revisions())


def is_served(engine: sa.Engine) -> bool:
    """Return whether this code can work on a database.

    It can if the schema is the newest that it knows, or a later one that still serves
    it.
    """
    with engine.connect() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
        if revision is None or revision in list_revisions():
            return revision == list_revisions()[0]
        if not sa.inspect(connection).has_table(schema_state.name):
            return False
        return (
            connection.scalar(sa.select(schema_state.c.oldest_code)) in list_revisions()
        )


def oldest_code(scripts: ScriptDirectory, revision: str | None) -> str | None:
    """Return the oldest schema whose code can work on a schema.

    A migration that removes something that older code needs names its own revision as
    `oldest_code`.
    """
    for script in scripts.walk_revisions("base", revision or "base"):
        named: str | None = getattr(script.module, "oldest_code", None)
        if named is not None:
            return named
    return None
