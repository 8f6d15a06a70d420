"""Names that need the server's packages; the client does without them."""

import sys
from importlib import import_module
from types import ModuleType

INSTALL = "pip install 'askless[server]'"


def import_or_explain(module: str, user: str) -> ModuleType:
    """Import a module; if a package is missing, raise with what `user` must install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        rule = f"{user} needs the package {error.name}. Install all with: {INSTALL}"
        raise ImportError(rule, name=error.name) from error


def main() -> None:
    """Run the command `askless`."""
    try:
        run = import_or_explain("askless.app.cli", "The command askless").main
    except ImportError as error:
        sys.exit(str(error))
    run()
