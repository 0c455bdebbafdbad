from datetime import date

DAYS_TO_RETURN = 30
KEPT_IF_OPENED = 0.2


def refund_due(delivered: str, asked: str, opened: bool, price: float) -> dict:
    """Work out how much of the price a customer gets back.

    Args:
        delivered: day of delivery, as 2026-01-31
        asked: day the customer asked for the refund
        opened: whether the box was opened
        price: what was paid
    """
    days = (date.fromisoformat(asked) - date.fromisoformat(delivered)).days
    if days > DAYS_TO_RETURN:
        return {"refund": 0.0, "reason": f"asked after {days} days; {DAYS_TO_RETURN} are allowed"}
    if opened:
        return {"refund": round(price * (1 - KEPT_IF_OPENED), 2), "reason": "opened: 20 percent are kept"}
    return {"refund": price, "reason": "unopened and in time"}
