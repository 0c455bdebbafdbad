"""Secrets that tools refer to by name: sealed when they are written, revealed only where work is done.

Sealed with the key in the secrets file, which is not in the database, so a copy of the database alone reveals
nothing. The web process seals and never reveals; pages show a name and the last four characters. Where the
values are put, and that they are blanked in what comes back, is gpu_worker.tools.filling's business.
"""

import re
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from training import seals
from training.models import Secret

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,59}")
SHORTEST, LONGEST = 8, 4000
"""Characters of a value; a shorter one would be blanked in half of all texts."""


class SecretRefused(ValueError):
    """A secret cannot be kept like this, or not be used. The sentence says what to do."""


def put(*, owner: User, name: str, value: str) -> Secret:
    """Keep a new secret. Raises SecretRefused."""
    checked, value = _name(name), _value(value)
    try:
        with transaction.atomic():
            return Secret.objects.create(owner=owner, name=checked, **seals.sealed(owner.pk, value))
    except IntegrityError:
        raise _taken(checked) from None


def replace(secret: Secret, *, value: str) -> None:
    """Another value under the same name. Raises SecretRefused."""
    Secret.objects.filter(pk=secret.pk).update(used_at=None, **seals.sealed(secret.owner_id, _value(value)))
    secret.refresh_from_db()


def rename(secret: Secret, *, name: str) -> None:
    """Another name; tools that refer to the old one no longer find it. Raises SecretRefused."""
    checked = _name(name)
    try:
        with transaction.atomic():
            Secret.objects.filter(pk=secret.pk).update(name=checked)
    except IntegrityError:
        raise _taken(checked) from None
    secret.refresh_from_db()


def delete(secret: Secret) -> None:
    """Gone for good."""
    Secret.objects.filter(pk=secret.pk).delete()


def revealed(owner: User, names: Iterable[str]) -> dict[str, str]:
    """The values of those secrets that the owner has, by name. Only workers call this.

    Raises SecretRefused for one that was sealed with a key that is no longer there.
    """
    found = Secret.objects.filter(owner=owner, name__in=list(names))
    values = {secret.name: _opened(secret) for secret in found}
    found.update(used_at=Now())
    return values


def _opened(secret: Secret) -> str:
    try:
        return seals.opened(secret.owner_id, secret.sealed)
    except seals.Broken:
        told = {"name": secret.name}
        raise SecretRefused(
            _("The secret %(name)s can no longer be opened; enter its value again.") % told
        ) from None


def _name(name: str) -> str:
    name = name.strip()
    if not NAME.fullmatch(name):
        raise SecretRefused(_("Name it in capital letters, digits and underscores, like SHOP_KEY."))
    return name


def _value(value: str) -> str:
    value = value.strip()
    if not SHORTEST <= len(value) <= LONGEST:
        told = {"shortest": SHORTEST, "longest": LONGEST}
        raise SecretRefused(_("A secret has between %(shortest)s and %(longest)s characters.") % told)
    if not value.isascii() or not value.isprintable():
        raise SecretRefused(_("A secret is one line of letters, digits and signs, without accents."))
    return value


def _taken(name: str) -> SecretRefused:
    return SecretRefused(_("You already have a secret called %(name)s; replace its value.") % {"name": name})
