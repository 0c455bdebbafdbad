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

from training.models import (
    Agent,
    Comparison,
    Errand,
    Group,
    Note,
    Ranking,
    Replay,
    Run,
    SavedView,
    Scenario,
    Score,
    SignInLink,
    TableFile,
    Tool,
    Trajectory,
)

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


def human_score_of(request: HttpRequest, score_id: int) -> Score:
    """A person's score with its try, if this user owns the run; Http404 otherwise."""
    scores = Score.objects.select_related("trajectory__group__run", "author").filter(source="human")
    return get_object_or_404(scores, pk=score_id, trajectory__group__run__owner=_somebody(request.user))


def ranking_of(request: HttpRequest, ranking_id: int) -> Ranking:
    """The ranking with its group, if this user made it; Http404 otherwise."""
    rankings = Ranking.objects.select_related("group__run", "owner")
    return get_object_or_404(rankings, pk=ranking_id, owner=_somebody(request.user))


def agent_of(request: HttpRequest, agent_id: int) -> Agent:
    """The agent, if this user owns it and it is not in the bin; Http404 otherwise."""
    return get_object_or_404(Agent, pk=agent_id, owner=_somebody(request.user), deleted_at=None)


def tool_of(request: HttpRequest, tool_id: int) -> Tool:
    """The tool with its agent, if this user owns it, in the bin or not; Http404 otherwise."""
    tools = Tool.objects.select_related("agent", "table")
    return get_object_or_404(tools, pk=tool_id, agent__owner=_somebody(request.user))


def table_of(request: HttpRequest, table_id: int) -> TableFile:
    """The uploaded table with its agent, if this user owns it, in the bin or not; Http404 otherwise."""
    tables = TableFile.objects.select_related("agent")
    return get_object_or_404(tables, pk=table_id, agent__owner=_somebody(request.user))


def scenario_of(request: HttpRequest, scenario_id: int) -> Scenario:
    """The scenario with its agent, if this user owns it, in the bin or not; Http404 otherwise."""
    scenarios = Scenario.objects.select_related("agent")
    return get_object_or_404(scenarios, pk=scenario_id, agent__owner=_somebody(request.user))


def errand_of(request: HttpRequest, errand_id: int) -> Errand:
    """The errand with its agent, if this user asked for it; Http404 otherwise."""
    errands = Errand.objects.select_related("agent")
    return get_object_or_404(errands, pk=errand_id, owner=_somebody(request.user))


def note_of(request: HttpRequest, note_id: int) -> Note:
    """The note with its try, deleted or not, if this user owns the run; Http404 otherwise."""
    notes = Note.objects.select_related("trajectory__group__run")
    return get_object_or_404(notes, pk=note_id, trajectory__run__owner=_somebody(request.user))


def replay_of(request: HttpRequest, replay_id: int) -> Replay:
    """The replay with its try and its errand, if this user owns the run; Http404 otherwise."""
    replays = Replay.objects.select_related("errand", "trajectory__group__run")
    return get_object_or_404(replays, pk=replay_id, trajectory__run__owner=_somebody(request.user))


def comparison_of(request: HttpRequest, comparison_id: int) -> Comparison:
    """The comparison with its run and errand, in the bin or not, if this user made it; Http404 otherwise."""
    comparisons = Comparison.objects.select_related("run__scenarios", "errand", "owner", "agent")
    return get_object_or_404(comparisons, pk=comparison_id, owner=_somebody(request.user))


def saved_view_of(request: HttpRequest, view_id: int) -> SavedView:
    """The saved view, if it is this user's; Http404 otherwise."""
    return get_object_or_404(SavedView, pk=view_id, owner=_somebody(request.user))


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
