"""Sealing what must not be read from a copy of the database: secrets of tools, keys of providers.

The key lies in the secrets file, outside the database. The owner is sealed in, so that a row that is moved to
somebody else opens no more. Who may open what, and when, is decided by those who call.
"""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

SHOWS_ITS_END = 16
"""Characters from which on the last four of a value may be shown."""


class Broken(Exception):
    """It was sealed for somebody else, or with a key that is no longer there."""


def sealed(owner_id: int, value: str) -> dict[str, str]:
    """The columns `sealed` and `last4` of a value."""
    token = _lock().encrypt(f"{owner_id}\n{value}".encode()).decode()
    return {"sealed": token, "last4": value[-4:] if len(value) >= SHOWS_ITS_END else ""}


def opened(owner_id: int, token: str) -> str:
    """The value. Raises Broken."""
    try:
        found, _newline, value = _lock().decrypt(token.encode()).decode().partition("\n")
    except InvalidToken:
        raise Broken from None
    if found != str(owner_id):
        raise Broken
    return value


def _lock() -> MultiFernet:
    """The key in the secrets file; with several (commas between), the first seals and all open."""
    return MultiFernet([Fernet(key) for key in settings.SECRETS["encryption"].split(",")])
