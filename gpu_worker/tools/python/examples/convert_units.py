from typing import Literal

METRIC = {
    "mile": (1.60934, "km"),
    "foot": (0.3048, "m"),
    "inch": (2.54, "cm"),
    "pound": (0.45359237, "kg"),
    "ounce": (28.3495, "g"),
    "gallon": (3.78541, "l"),
}


def convert_units(value: float, unit: Literal["mile", "foot", "inch", "pound", "ounce", "gallon"]) -> str:
    """Convert a measure to metric units.

    Args:
        value: how many
        unit: of what
    """
    factor, metric = METRIC[unit]
    return f"{value * factor:.4g} {metric}"
