"""Names that need the server's packages; the client does without them."""

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import FrameType, ModuleType

INSTALL = "pip install 'askless[server]'"
# Import names of the packages in the extra `server`.
SERVER_MODULES = frozenset(
    (
        *("alembic", "annotated_types", "fastapi", "fastapi_offline", "fsspec"),
        *("h11", "jinja2", "jmespath", "narwhals", "numba", "numpy"),
        *("prometheus_client", "psycopg", "pyarrow", "pydantic", "pydantic_settings"),
        *("python_multipart", "rich", "scipy", "sklearn", "sniffio", "sqlalchemy"),
        *("standardwebhooks", "threadpoolctl", "typer", "typing_extensions", "uvicorn"),
    )
)


class MissingExtraError(ImportError):
    """A package of the extra `server` is missing; the message says what to install."""


def import_or_explain(module: str, user: str) -> ModuleType:
    """Import a module; raise MissingExtraError where the extra `server` is missing.

    Whatever else is missing is no matter of the extra: its error is raised as it came.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        # One that is imported is there: a part of it is missing, or of another version.
        if package not in SERVER_MODULES or sys.modules.get(package) is not None:
            raise
        rule = f"{user} needs the package {package}. Install all with: {INSTALL}"
        raise MissingExtraError(rule, name=package) from error


#: Packages that others import although no command needs them there, with these others:
#: pyarrow imports pandas at its first array, and numba what it would offer to kernels,
#: of which none calls BLAS or C.
HIDDEN = {
    "pandas": ("askless", "pyarrow"),
    **dict.fromkeys(("cffi", "coverage", "scipy", "yaml"), ("numba",)),
}


class ModuleHider(MetaPathFinder):
    """Hide packages that take half a second to import and serve no command.

    Whatever else imports them by itself gets them.
    """

    def find_spec(self, fullname: str, *_: object) -> None:
        """Raise ModuleNotFoundError where a package is asked for that is `HIDDEN`."""
        if fullname not in HIDDEN:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        # pyarrow's compiled code has no frame; ours calls it, and imports no pandas.
        asking = "" if frame is None else frame.f_globals.get("__name__", "")
        if asking.partition(".")[0] in HIDDEN[fullname]:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def main() -> None:
    """Run the command `askless`."""
    sys.meta_path.insert(0, ModuleHider())
    try:
        run = import_or_explain("askless.app.cli", "The command askless").main
    except MissingExtraError as error:
        sys.exit(str(error))
    run()
