from typing import Literal

HOURS = {"low": 72, "normal": 24, "high": 4}


def sla_left(priority: Literal["low", "normal", "high"], hours_open: float) -> str:
    """How long is left to answer a ticket in time.

    Args:
        priority: of the ticket
        hours_open: how long it has been open, in hours
    """
    minutes = round((HOURS[priority] - hours_open) * 60)
    late = " late" if minutes < 0 else " left"
    return f"{abs(minutes) // 60} hours {abs(minutes) % 60} minutes{late}"
