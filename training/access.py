"""Who may see what: every lookup returns an object that the signed-in user owns, or answers 404.

An id that belongs to somebody else looks exactly like one that does not exist. Also the one-time
sign-in links; rendering and sessions are left to the views.
"""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone

from training.models import Group, Run, SignInLink, Trajectory

LINK_LIFETIME = timedelta(days=1)


def run_of(request: HttpRequest, run_id: int) -> Run:
    """The run, if this user owns it; Http404 otherwise."""
    return get_object_or_404(Run, pk=run_id, owner=_somebody(request.user))


def group_of(request: HttpRequest, group_id: int) -> Group:
    """The group with its run, if this user owns the run; Http404 otherwise."""
    groups = Group.objects.select_related("run")
    return get_object_or_404(groups, pk=group_id, run__owner=_somebody(request.user))


def trajectory_of(request: HttpRequest, trajectory_id: int) -> Trajectory:
    """The trajectory with its group and run, if this user owns the run; Http404 otherwise."""
    trajectories = Trajectory.objects.select_related("group__run")
    return get_object_or_404(trajectories, pk=trajectory_id, group__run__owner=_somebody(request.user))


def operator() -> User:
    """The person who runs this installation; made without a password the first time."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("id").first()
    if found:
        return found
    defaults = {"is_superuser": True, "password": make_password(None)}
    return User.objects.get_or_create(username="operator", defaults=defaults)[0]


def make_sign_in_link(user: User) -> str:
    """The path of a link that signs `user` in once, within a day. Only its hash is stored."""
    now = timezone.now()
    SignInLink.objects.filter(expires_at__lt=now).delete()
    token = secrets.token_urlsafe(32)
    SignInLink.objects.create(user=user, sha256=_hash(token), expires_at=now + LINK_LIFETIME)
    return f"/sign-in/{token}/"


def redeem(token: str) -> User | None:
    """The user a link was made for, the first time it is used; None ever after."""
    now = timezone.now()
    link = SignInLink.objects.filter(sha256=_hash(token), user__is_active=True)
    used = link.filter(used_at=None, expires_at__gt=now).update(used_at=now)
    return link.select_related("user").get().user if used else None


def _somebody(user: AbstractBaseUser | AnonymousUser) -> User:
    if not isinstance(user, User) or not user.is_active:
        raise Http404
    return user


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
