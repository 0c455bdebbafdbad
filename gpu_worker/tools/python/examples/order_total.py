def order_total(prices: list[float], discount_percent: float = 0.0) -> str:
    """Add up an order and take off a discount.

    Args:
        prices: the price of each item
        discount_percent: percent off the whole order
    """
    if not 0 <= discount_percent <= 100:
        raise ValueError("a discount is between 0 and 100 percent")
    total = sum(prices) * (1 - discount_percent / 100)
    return f"{total:.2f}"
