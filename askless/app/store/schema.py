"""The whole schema: the tables of all nouns. A noun's own are beside its queries."""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import sqlalchemy as sa

from askless.app.store.database.migrate import schema_state


def all_tables() -> sa.MetaData:
    """Return the tables of all nouns, by importing the modules that define them."""
    for module in walk_packages([str(Path(__file__).parent)], f"{__package__}."):
        import_module(module.name)
    return schema_state.metadata
