import re

KINDS = {"ORD": "order", "INV": "invoice", "RMA": "return"}


def read_reference(text: str) -> dict:
    """Find the order, invoice or return number that somebody wrote in a message.

    Args:
        text: the message
    """
    found = re.search(r"\b(ORD|INV|RMA)[- ]?(\d{3,8})\b", text.upper())
    if found is None:
        return {"kind": "none", "number": None}
    return {"kind": KINDS[found.group(1)], "number": int(found.group(2))}
