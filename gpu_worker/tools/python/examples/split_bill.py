def split_bill(total: float, people: int) -> list:
    """Split an amount so that the parts add up to the cent; the first ones pay the odd cents.

    Args:
        total: the amount
        people: how many share it
    """
    if people < 1:
        raise ValueError("somebody has to pay")
    cents = round(total * 100)
    share, odd = divmod(cents, people)
    return [(share + (1 if at < odd else 0)) / 100 for at in range(people)]
