"""API keys as text: `art_` and 256 random bits. What is kept is the hash, and a prefix that finds the row."""

from __future__ import annotations

import hashlib
import secrets
from hmac import compare_digest

MARK = "art_"
PREFIX_LENGTH = 12
KEY_LENGTH = len(MARK) + 43


def fresh_key() -> str:
    return MARK + secrets.token_urlsafe(32)


def prefix_of(key: str) -> str:
    """The start of a key, safe to store and show: 8 of its 43 random characters."""
    return key[:PREFIX_LENGTH]


def hash_of(key: str) -> str:
    """SHA-256 is enough here: unlike a password, a key of 256 random bits cannot be guessed."""
    return hashlib.sha256(key.encode()).hexdigest()


def matches(key: str, sha256: str) -> bool:
    return compare_digest(hash_of(key), sha256)


def key_in(authorization: str) -> str | None:
    """The key in an Authorization header, or None where it does not hold something of a key's form."""
    scheme, _, key = authorization.partition(" ")
    key = key.strip()
    fits = key.startswith(MARK) and len(key) == KEY_LENGTH and key.isascii() and key.isprintable()
    return key if scheme.lower() == "bearer" and fits else None
