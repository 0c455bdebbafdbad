"""Errands: work a page asks for that takes a while, and the desk that does it."""
