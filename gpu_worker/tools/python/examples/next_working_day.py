from datetime import date, timedelta

HOLIDAYS = ("12-25", "12-26", "01-01")


def next_working_day(day: str) -> str:
    """The first working day after a date: neither a weekend nor a holiday.

    Args:
        day: a date, as 2026-01-31
    """
    found = date.fromisoformat(day) + timedelta(days=1)
    while found.weekday() >= 5 or found.isoformat()[5:] in HOLIDAYS:
        found = found + timedelta(days=1)
    return found.isoformat()
