"""What changes who may use /v1 and what answers there: keys are made and revoked, names are pointed."""

from __future__ import annotations

import re

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from training.models import ApiKey, Checkpoint, Deployment, Run
from training.serving.keys import fresh_key, hash_of, prefix_of

MAX_KEYS = 50
ALIAS = re.compile(r"[^\W_][\w.-]{0,79}\Z")


class Refused(Exception):
    """What was asked for is not possible; the text says why and what to do."""


@transaction.atomic
def make_key(*, owner: User, name: str) -> tuple[ApiKey, str]:
    """A new key of this owner: its row, and the key itself, which nobody can read again."""
    name = name.strip()
    if not 1 <= len(name) <= 80 or not name.isprintable():
        raise Refused(_("Give the key a name of 1 to 80 characters, such as the program that will use it."))
    active = ApiKey.objects.filter(owner=owner, revoked_at=None)
    if active.filter(name=name).exists():
        raise Refused(_("You already have a key named “%(name)s”. Choose another name.") % {"name": name})
    if active.count() >= MAX_KEYS:
        raise Refused(_("You have %(count)d keys. Revoke one you no longer use.") % {"count": MAX_KEYS})
    key = fresh_key()
    row = ApiKey.objects.create(owner=owner, name=name, prefix=prefix_of(key), sha256=hash_of(key))
    return row, key


def free_key_name(*, owner: User, stem: str) -> str:
    """`stem`, or `stem 2`, `stem 3`, …: the first name that no working key of this owner has."""
    taken = set(ApiKey.objects.filter(owner=owner, revoked_at=None).values_list("name", flat=True))
    names = (stem[:70], *(f"{stem[:70]} {number}" for number in range(2, MAX_KEYS + 2)))
    return next(name for name in names if name not in taken)


def revoke_key(*, key: ApiKey) -> None:
    """From now on the key is refused. There is no way back; revoking twice changes nothing."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())


def deploy(*, owner: AbstractBaseUser, alias: str, checkpoint: Checkpoint) -> Deployment:
    """Point a name of this owner at a checkpoint; a name that exists is moved (promote)."""
    alias = alias.strip()
    run = checkpoint.run
    if not ALIAS.match(alias):
        raise Refused(_("A name has 1 to 80 letters, digits, dots, dashes and underscores."))
    if run.owner_id != owner.pk:
        raise Refused(_("This checkpoint belongs to somebody else."))
    if not checkpoint.kept:
        raise Refused(
            _("The files of step %(step)d are gone. Choose another step.") % {"step": checkpoint.step}
        )
    if run.state not in Run.OVER:
        raise Refused(
            _("“%(run)s” has not ended and still clears away older checkpoints. Stop it first.")
            % {"run": run.name}
        )
    deployment, _new = Deployment.objects.update_or_create(
        owner=owner, alias=alias, defaults={"checkpoint": checkpoint}
    )
    return deployment


def undeploy(*, deployment: Deployment) -> None:
    """The name stops answering; the checkpoint stays."""
    deployment.delete()


def deploy_run(run: Run) -> Deployment | None:
    """Let a finished run answer under its own name, if that name is free. Calling it again is harmless."""
    checkpoint = trained_checkpoint(run)
    if checkpoint is None or not ALIAS.match(run.name):
        return None
    try:
        with transaction.atomic():
            return Deployment.objects.create(owner=run.owner, alias=run.name, checkpoint=checkpoint)
    except IntegrityError:  # the name is taken, by an earlier call or by a person
        return Deployment.objects.filter(owner=run.owner, alias=run.name, checkpoint__run=run).first()


def trained_checkpoint(run: Run) -> Checkpoint | None:
    """The checkpoint of the final evaluation: the one with the summary's weights, else the newest kept."""
    kept = run.checkpoints.filter(kept=True).order_by("-step")
    sha256 = run.summary.get("weights_sha256")
    return (kept.filter(sha256=sha256).first() if sha256 else None) or kept.first()
