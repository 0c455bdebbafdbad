"""Scenarios that a language model proposes: asked for, read with suspicion, verified by running the tools."""
