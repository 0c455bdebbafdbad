def check_iban(iban: str) -> str:
    """Say whether a bank account number (IBAN) can be right.

    Args:
        iban: the number, with or without spaces
    """
    number = iban.replace(" ", "").upper()
    if not 15 <= len(number) <= 34 or not number.isalnum():
        return "not an IBAN"
    turned = number[4:] + number[:4]
    digits = "".join(str(int(sign, 36)) for sign in turned)
    return "valid" if int(digits) % 97 == 1 else "the check digits are wrong"
