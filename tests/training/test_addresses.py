"""Refused addresses of providers: one sentence, and only where it helps, how the operator allows it."""

import pytest
from django.contrib.auth.models import User

from training.judges.addresses import Unwelcome, guard_for

pytestmark = pytest.mark.django_db
HOW = "She does so with ARTWEB_TOOL_HOSTS"


@pytest.mark.parametrize(
    ("address", "helps"),
    [
        ("http://10.1.2.3/v1", True),
        ("https://api.example.com:8443/v1", True),
        ("ftp://api.example.com/v1", False),
        ("https://user:pw@api.example.com/v1", False),
    ],
)
def test_the_operator_is_named_once_and_only_where_she_can_help(
    user: User, address: str, helps: bool
) -> None:
    with pytest.raises(Unwelcome) as refused:
        guard_for(user, address)
    assert str(refused.value).lower().count("operator") == int(helps)
    assert (HOW in str(refused.value)) == helps
