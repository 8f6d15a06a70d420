"""The folder of the service; only the user who runs it may read its files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from askless.app.settings.settings import Settings
from askless.core.errors import Refusal, RefusedError

UPLOADS = "uploads"
#: The file with the key of the demo in plain text, for this machine alone.
DEMO_KEY = "demo-key"
FOLDER, FILE, OTHERS = 0o700, 0o600, 0o077


@contextmanager
def keep_files_private(settings: Settings) -> Iterator[None]:
    """Deny other users access to the files, also to those that the block writes."""
    before = os.umask(OTHERS)
    try:
        prepare(settings)
        yield
    finally:
        os.umask(before)


def prepare(settings: Settings) -> None:
    """Create the folder for this user alone; raise RefusedError if unusable."""
    home = settings.home_dir
    # Database and uploads are elsewhere: nothing is written to the folder.
    if not settings.is_embedded and settings.blobs is not None:
        return
    try:
        home.mkdir(mode=FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable_home_error(home, error.strerror) from None
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise unusable_home_error(home, "Permission denied")
    ours = [*list_files(settings)]
    # Another program may use a folder that holds other files.
    if set(home.iterdir()) <= {*ours, home / UPLOADS}:
        ours.append(home)
    for path in ours:
        make_private(path)


def list_local_folders(settings: Settings) -> list[Path]:
    """Return the local folders that the service writes to."""
    url = sa.make_url(settings.url)
    folders = []
    if settings.is_embedded and url.database:
        folders.append(Path(url.database).parent)
    uploads = settings.blobs_url.removeprefix("file://")
    return folders if "://" in uploads else [*folders, Path(uploads)]


def list_files(settings: Settings) -> Iterator[Path]:
    """Yield the files of the database, the folder of uploads and the files in it."""
    database = sa.make_url(settings.url).database
    if settings.is_embedded and database:
        for tail in ("", "-wal", "-shm", "-journal"):
            yield Path(database + tail)
    if (key := settings.home_dir / DEMO_KEY).exists():
        yield key
    uploads = settings.home_dir / UPLOADS
    if uploads.is_dir():
        yield from (uploads, *uploads.iterdir())


def make_private(path: Path) -> None:
    """Deny other users access; the file may be gone, or another user's."""
    with suppress(FileNotFoundError, PermissionError):
        mode = path.stat().st_mode
        if mode & OTHERS:
            path.chmod(FOLDER if path.is_dir() else FILE)


def unusable_home_error(home: Path, reason: str | None) -> RefusedError:
    rule = "must be a folder that this user may write to"
    return RefusedError([Refusal("ASKLESS_HOME", rule, f"{home}: {reason}")])
