"""The programs a bar runs: one side each, a fresh process each time, one JSON object as the last line.

A program of a peer runs in the peer's own environment and imports nothing of ArtWeb but `bench`.
"""
