"""The whole schema: the tables of all nouns. A noun's own are beside its queries."""

from importlib import import_module
from pkgutil import iter_modules

import sqlalchemy as sa

from app import store
from app.store.database.migrate import schema_state


def all_tables() -> sa.MetaData:
    """Return the tables of all nouns; they add themselves when they are imported."""
    for module in iter_modules(store.__path__):
        import_module(f"{store.__name__}.{module.name}")
    return schema_state.metadata
