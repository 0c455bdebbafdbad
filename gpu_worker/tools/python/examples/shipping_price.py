from typing import Literal

BASE = {"home": 4.5, "europe": 9.5, "world": 19.0}
PER_KG = {"home": 0.5, "europe": 2.5, "world": 6.0}


def shipping_price(weight_kg: float, zone: Literal["home", "europe", "world"], express: bool = False) -> str:
    """Price of sending a parcel.

    Args:
        weight_kg: weight in kilograms, up to 30
        zone: where it goes
        express: next day, at one and a half times the price
    """
    if not 0 < weight_kg <= 30:
        raise ValueError("a parcel weighs up to 30 kg")
    price = BASE[zone] + PER_KG[zone] * weight_kg
    return f"{price * (1.5 if express else 1):.2f}"
