"""Refuse `app`, `core` and `migrations` as imports: they are links for people.

`tests/conftest.py` imports this file, and names its folder in PYTHONPATH, so that
Python imports it in each process that a test starts.
"""

import sys

LINKS = ("app", "core", "migrations")


class RefusingFinder:
    """A finder of modules that refuses the links at the top of the repository."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        # Another error than ImportError, which callers may pass over.
        if name in LINKS:
            raise AssertionError(f"import askless.{name}: {name} is a link for people")


if RefusingFinder not in sys.meta_path:
    sys.meta_path.insert(0, RefusingFinder)  # type: ignore[arg-type]
