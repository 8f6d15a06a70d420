"""An agent that speaks the Model Context Protocol over HTTP, message by message."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.app.clinic import Json

VERSION, OLDER_VERSION = "2026-07-28", "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
# What a method names in the header `Mcp-Name`.
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass
class Agent:
    """Sends the messages of one version of the protocol."""

    #: posts to a path, as a client of HTTP does
    post: Callable[..., Any]
    version: str = VERSION
    headers: dict[str, str] = field(default_factory=dict)

    def message(self, method: str, params: Json) -> tuple[dict[str, str], Json]:
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.version,
            **self.headers,
        }
        if self.version == VERSION:
            params = {**params, "_meta": META}
            headers["Mcp-Method"] = method
            if method in NAMED_BY:
                headers["Mcp-Name"] = params[NAMED_BY[method]]
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return headers, body

    def send(self, method: str, params: Json | None = None) -> Any:
        """Send a message; return the response of HTTP."""
        headers, body = self.message(method, params or {})
        return self.post("/mcp", json=body, headers=headers)

    def call(self, tool: str, **arguments: Any) -> Json:
        """Call a tool; return its result."""
        response = self.send("tools/call", {"name": tool, "arguments": arguments})
        assert response.status_code == 200, response.text
        told: Json = response.json()
        assert "result" in told, told
        result: Json = told["result"]
        return result

    def do(self, tool: str, **arguments: Any) -> Json:
        """Call a tool that is to succeed; return its structured content."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        content: Json = result["structuredContent"]
        return content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool that is to refuse; return the text of its problem."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        assert "structuredContent" not in result
        text: str = result["content"][0]["text"]
        return text
