"""The folder of the service: its files are for the user alone that runs it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from app.settings.settings import Settings
from core.errors import Refusal, RefusedError

UPLOADS = "uploads"
#: The key of the demo, in the clear: it is for this machine alone.
DEMO_KEY = "demo-key"
FOLDER, FILE, OTHERS = 0o700, 0o600, 0o077


@contextmanager
def private_files(settings: Settings) -> Iterator[None]:
    """Keep what is there, and what the block writes, from other users."""
    before = os.umask(OTHERS)
    try:
        prepare(settings)
        yield
    finally:
        os.umask(before)


def prepare(settings: Settings) -> None:
    """Make the folder; take other users' rights from the files of before."""
    home = settings.home_dir
    if not settings.is_embedded and settings.blobs is not None:
        return
    try:
        home.mkdir(mode=FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(home, error.strerror) from None
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise unusable(home, "Permission denied")
    ours = [*files_of(settings)]
    # A folder that holds more than ours is not ours to close.
    if set(home.iterdir()) <= {*ours, home / UPLOADS}:
        ours.append(home)
    for path in ours:
        close(path)


def local_folders(settings: Settings) -> list[Path]:
    """Return the folders on this machine that the service must be able to grow in."""
    url = sa.make_url(settings.url)
    found = [Path(url.database).parent] if settings.is_embedded and url.database else []
    uploads = settings.blobs_url.removeprefix("file://")
    return found if "://" in uploads else [*found, Path(uploads)]


def files_of(settings: Settings) -> Iterator[Path]:
    """Yield the database's files and the uploads with their folder, where they are."""
    database = sa.make_url(settings.url).database
    if settings.is_embedded and database:
        for tail in ("", "-wal", "-shm", "-journal"):
            yield Path(database + tail)
    if (key := settings.home_dir / DEMO_KEY).exists():
        yield key
    uploads = settings.home_dir / UPLOADS
    if uploads.is_dir():
        yield from (uploads, *uploads.iterdir())


def close(path: Path) -> None:
    """Take the rights of others; files come and go, and may be another user's."""
    with suppress(FileNotFoundError, PermissionError):
        mode = path.stat().st_mode
        if mode & OTHERS:
            path.chmod(FOLDER if path.is_dir() else FILE)


def unusable(home: Path, found: str | None) -> RefusedError:
    rule = "must be a folder that this user may write to"
    return RefusedError([Refusal("ASKLESS_HOME", rule, f"{home}: {found}")])
