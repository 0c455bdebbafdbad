"""What a person's function may use in one call."""

SECONDS = 1.0
MEMORY = 32 * 1024 * 1024
"""Bytes."""
DEPTH = 200
MOST_OUTPUT = 64 * 1024
"""Characters a function may return, and may print."""
