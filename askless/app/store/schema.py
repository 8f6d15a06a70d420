"""The whole schema: the tables of all nouns. A noun's own are beside its queries."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import sqlalchemy as sa

from askless.app.store.database.migrate import schema_state


def all_tables() -> sa.MetaData:
    """Return the tables of all nouns, by importing the modules that define them."""
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"{__package__}.{module.name}")
    return schema_state.metadata
