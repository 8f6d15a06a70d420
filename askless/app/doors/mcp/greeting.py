"""The first answer over stdio, which needs neither the service nor the library.

An agent's program waits for it before it shows anything, and reading the rest takes
seconds. So `initialize`, or `server/discover`, is answered from here, and then handed
to the server, whose own answer is the same and is left out.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from mcp_types import (
    ClientCapabilities,
    DiscoverResult,
    Implementation,
    InitializeRequestParams,
    InitializeResult,
    PromptsCapability,
    ResourcesCapability,
    Result,
    ServerCapabilities,
    ToolsCapability,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

NAME, TITLE = "askless", "Askless"
SERVER = Implementation(name=NAME, title=TITLE, version=version("askless"))
# Names in the metadata of a request begin with it.
META = "io.modelcontextprotocol"
INSTRUCTIONS = (
    "Predict from few features. A case asks for one feature at a time, each with its "
    "price, predicts after every answer, and never charges more than its budget. "
    "list_models, then start_case, then answer until should_stop; stop_case ends it."
)
CAPABILITIES = ServerCapabilities(
    prompts=PromptsCapability(list_changed=False),
    resources=ResourcesCapability(subscribe=False, list_changed=False),
    tools=ToolsCapability(list_changed=False),
)


class Greeting(NamedTuple):
    """The first line that came; `answered` is the id of a request that was answered."""

    line: str
    answered: int | str | None


def greet() -> Greeting | None:
    """Answer the first line where it asks who we are; None where nobody can be read."""
    try:
        line = read_line(sys.stdin.fileno())
    # Standard input is no file.
    except (OSError, ValueError):
        return None
    result = answer(line)
    if result is None:
        return Greeting(line, None)
    sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
    sys.stdout.flush()
    return Greeting(line, result["id"])


def read_line(file: int) -> str:
    """Read one line and nothing behind it, which is the server's to read."""
    line = bytearray()
    while (byte := os.read(file, 1)) and byte != b"\n":
        line += byte
    return line.decode(errors="replace")


def answer(line: str) -> dict[str, Any] | None:
    """Return the answer to a first request, as the server has it; else None."""
    try:
        request = json.loads(line)
        if request["jsonrpc"] != "2.0":
            return None
        result = ANSWERS[request["method"]](request["params"])
        key = request["id"]
    except (LookupError, RecursionError, TypeError, ValueError, ValidationError):
        return None
    if type(key) not in (int, str):
        return None
    content = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"jsonrpc": "2.0", "id": key, "result": content}


def initialize(params: Any) -> Result:
    asked = InitializeRequestParams.model_validate(params, by_name=False)
    is_known = asked.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    return InitializeResult(
        protocol_version=asked.protocol_version
        if is_known
        else LATEST_HANDSHAKE_VERSION,
        capabilities=CAPABILITIES,
        server_info=SERVER,
        instructions=INSTRUCTIONS,
    )


def discover(params: Any) -> Result:
    """Answer what newer agents ask first; raise ValueError for a version before."""
    meta = params["_meta"]
    Implementation.model_validate(meta[f"{META}/clientInfo"], by_name=False)
    ClientCapabilities.model_validate(meta[f"{META}/clientCapabilities"], by_name=False)
    if meta[f"{META}/protocolVersion"] not in MODERN_PROTOCOL_VERSIONS:
        raise ValueError
    named = SERVER.model_dump(mode="json", by_alias=True, exclude_none=True)
    return DiscoverResult(
        _meta={f"{META}/serverInfo": named},
        supported_versions=[*MODERN_PROTOCOL_VERSIONS],
        capabilities=CAPABILITIES,
        instructions=INSTRUCTIONS,
    )


ANSWERS: dict[str, Callable[[Any], Result]] = {
    "initialize": initialize,
    "server/discover": discover,
}
