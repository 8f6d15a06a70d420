"""The server of the protocol, whatever it is reached by: tools, resources, prompts."""

from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.metadata import version

from mcp.server.lowlevel.server import Server

from askless.app.doors.mcp import prompts, resources, tools
from askless.app.doors.mcp.calls import Host
from askless.app.doors.mcp.greeting import INSTRUCTIONS, NAME, TITLE


def make_server(host: Host) -> Server[Host]:
    """Make the server; `host` answers its calls."""

    def live(_: Server[Host]) -> AbstractAsyncContextManager[Host]:
        return nullcontext(host)

    server = Server(
        NAME,
        title=TITLE,
        version=version("askless"),
        instructions=INSTRUCTIONS,
        lifespan=live,
        get_tool_input_schema=tools.input_schema_of,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get_prompt,
    )
    if not host.app.state.settings.telemetry:
        # Spans that nobody is sent.
        server.middleware.clear()
    return server
