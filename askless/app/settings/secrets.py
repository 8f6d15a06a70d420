"""Secrets of providers: files of a folder, read by name at the call."""

from pathlib import Path

# Far above any key or certificate.
MOST_BYTES = 64_000


class SecretError(Exception):
    """A secret can't be read; the message has its name, never its value or place."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no secret {name}")


def read_secret(folder: Path | None, name: str) -> str:
    """Return a secret without its line end; raise SecretError if there is none.

    An empty one is none: whoever writes the file has not finished.
    """
    if folder is None or name in ("", ".", "..") or "/" in name or "\\" in name:
        raise SecretError(name)
    try:
        with (folder.expanduser() / name).open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode()
    except (OSError, ValueError):
        raise SecretError(name) from None
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret or len(text) > MOST_BYTES:
        raise SecretError(name)
    return secret
