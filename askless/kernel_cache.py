"""Keep the machine code of kernels in a folder named by a hash of their sources.

numba keeps the machine code of a kernel as long as the kernel's own file stays the
same, although the code of the kernels that it calls is part of it. In a folder named by
all of their files nothing is out of date: after an edit of any file the folder is
another one, and every kernel is compiled anew.

Importing this module hands the choice to core. Only our kernels are kept there: those
of a program that imports us stay where numba puts them.
"""

import os
import shutil
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile

from askless.core import machine_code

KERNELS = Path(machine_code.__file__).parent / "kernels"

#: A folder of other sources stays so long after its last start: a process that began
#: before the edit may still be compiling into it.
STALE_S = 3600


def hash_sources(folder: Path) -> str:
    """Return a hash of all Python files below a folder, with their paths."""
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def choose_folder(given: str, kernels: Path = KERNELS) -> str:
    """Make the folder of the kernels as they are, and remove those of older sources.

    It lies in the first parent that can be written to: the `given` one, then beside
    the kernels, then in the user's cache, as numba has them. Where none can be, return
    `given`: numba says so itself.
    """
    # Copies of Askless in other places have folders of their own in a shared parent.
    place = f"askless-{sha256(str(kernels).encode()).hexdigest()[:8]}-"
    name = place + hash_sources(kernels)[:12]
    for parent in list_parents(given, kernels):
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.touch()
            TemporaryFile(dir=folder).close()
        except OSError:
            continue
        for other in parent.glob(f"{place}*"):
            if other != folder and is_stale(other):
                shutil.rmtree(other, ignore_errors=True)
        return str(folder)
    return given


def list_parents(given: str, kernels: Path) -> Iterator[Path]:
    """Yield where numba would keep machine code, in its order."""
    if given:
        yield Path(given)
    yield kernels / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    yield Path(home, "numba")


def is_stale(folder: Path) -> bool:
    """Return whether no process has started with a folder for a while."""
    try:
        return folder.stat().st_mtime < time.time() - STALE_S
    except OSError:
        # Another process has removed it.
        return False


machine_code.choose_folder = choose_folder
