"""The version of core: shards of another version could train another model."""

from functools import cache
from importlib.metadata import version
from pathlib import Path

from askless import core
from askless.kernel_cache import hash_sources


@cache
def core_version() -> str:
    """Return the release, with the first digits of a hash of core's source."""
    digest = hash_sources(Path(core.__file__).parent)
    return f"{version('askless')} ({digest[:12]})"
