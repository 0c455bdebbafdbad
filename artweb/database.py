"""The database, brought up to date before anything starts, or a sentence on why it cannot be."""

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError


def prepare() -> None:
    """Make or update the tables. Raises CommandError."""
    try:
        call_command("migrate", verbosity=0, skip_checks=True)
    except DatabaseError as error:
        raise CommandError(why(error)) from error


def why(error: DatabaseError) -> str:
    words = str(error).strip()
    said = words.lower()
    if "full" in said:
        return f"The disk is full: the database in {settings.DATA_DIR} cannot be written. Free some space."
    if "readonly" in said or "unable to open" in said:
        return f"The database in {settings.DATA_DIR} cannot be written. Check who owns that directory."
    if "not a database" in said or "malformed" in said:
        return f"The database in {settings.DATA_DIR} is damaged. Restore it from a backup."
    if "locked" in said:
        return f"The database in {settings.DATA_DIR} is locked by another program. Try again in a moment."
    return f"The database cannot be used: {words.splitlines()[0] if words else type(error).__name__}"
