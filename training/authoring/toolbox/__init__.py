"""Tools without code: the tools page, tables, the console, MCP servers, secrets."""
