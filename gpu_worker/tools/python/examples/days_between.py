from datetime import date


def days_between(start: str, end: str) -> int:
    """Count the days from one date to another.

    Args:
        start: the first day, as 2026-01-31
        end: the last day, as 2026-01-31
    """
    return (date.fromisoformat(end) - date.fromisoformat(start)).days
