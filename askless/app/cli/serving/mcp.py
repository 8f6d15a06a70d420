"""The command `mcp`: one agent over stdio, which has started this process."""

import sys
from importlib import import_module
from importlib.util import find_spec

from askless.app.cli.serving.tenant_option import FIRST, Tenant
from askless.core.errors import Refusal, RefusedError

RULE = "needs its extra: pip install 'askless[server,mcp]'"


def serve_agent(tenant: Tenant = FIRST) -> None:
    """Serve the home's database in this process until standard input ends.

    Whoever can start it can read the database. So it asks for no key, and works for
    the tenant; with ASKLESS_MCP_KEY in that key's name, with its scopes and limits.
    The first request is answered before the service is imported.
    """
    if find_spec("mcp") is None:
        raise RefusedError([Refusal("askless mcp", RULE)])
    is_person = sys.stdin.isatty()
    greeting = None if is_person else import_module(f"{DOOR}.greeting").greet()

    from askless.app import logs
    from askless.app.cli import options
    from askless.app.cli.serving.keys import open_engine, require_tenant_id
    from askless.app.cli.serving.service import migrate_database, open_settings

    with open_settings() as settings, options.print_compiling():
        if settings.is_embedded:
            migrate_database(settings)
        with open_engine(settings) as engine:
            tenant_id = require_tenant_id(engine, tenant)
        if is_person:
            options.errors.print("An agent's program is to start this. End: Ctrl+D")
        # Standard output is the protocol's; the log goes to standard error.
        logs.configure_logging()
        app = import_module("askless.app.main").create_app(settings, is_local=True)
        door = import_module(f"{DOOR}.stdio")
        door.serve_stdio(app, tenant_id, settings.mcp_key, greeting)


DOOR = "askless.app.doors.mcp"
