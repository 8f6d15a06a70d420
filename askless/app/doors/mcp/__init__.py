"""The door for agents: the Model Context Protocol, over HTTP at /mcp and over stdio."""
