"""The version of core: shards of another version could train another model."""

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from askless import core


@cache
def core_version() -> str:
    """Return the release, with the first digits of a hash of core's source."""
    folder = Path(core.__file__).parent
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{version('askless')} ({digest.hexdigest()[:12]})"
