"""Only the owner sees anything, and a sign-in link works once."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404
from django.test import RequestFactory
from django.utils import timezone

from training import access
from training.models import Group, Run, SignInLink, Trajectory

pytestmark = pytest.mark.django_db


def a_request(user: User | AnonymousUser) -> object:
    request = RequestFactory().get("/")
    request.user = user
    return request


def test_the_owner_sees_run_group_and_trajectory_and_nobody_else(
    run: Run, user: User, other_user: User
) -> None:
    group = Group.objects.create(
        run=run, label="train", split="train", step=1, index=0, tries=1, successes=0, mean_reward=0,
        best_reward=0,
    )  # fmt: skip
    trajectory = Trajectory.objects.create(
        run=run, label="train", step=1, group=group, index=0, ended="answered", turns=1, sampled_tokens=1,
        reward=0, success=False,
    )  # fmt: skip
    lookups = [(access.run_of, run), (access.group_of, group), (access.trajectory_of, trajectory)]
    inactive = User(username="gone", is_active=False)
    for lookup, row in lookups:
        assert lookup(a_request(user), row.pk) == row  # type: ignore[operator]
        for stranger in (other_user, AnonymousUser(), inactive):
            with pytest.raises(Http404):
                lookup(a_request(stranger), row.pk)  # type: ignore[operator]
        with pytest.raises(Http404):
            lookup(a_request(user), row.pk + 1)  # type: ignore[operator]


def token_of(path: str) -> str:
    return path.strip("/").rpartition("/")[2]


def test_a_sign_in_link_works_once(user: User) -> None:
    token = token_of(access.make_sign_in_link(user))
    assert not SignInLink.objects.filter(sha256=token).exists()
    assert access.redeem(token) == user
    assert access.redeem(token) is None
    assert access.redeem("guess") is None


def test_a_sign_in_link_ends_after_a_day(user: User) -> None:
    token = token_of(access.make_sign_in_link(user))
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert access.redeem(token) is None
    access.make_sign_in_link(user)
    assert SignInLink.objects.count() == 1


def test_the_operator_is_made_once_and_has_no_password() -> None:
    operator = access.operator()
    assert access.operator() == operator
    assert not operator.has_usable_password()
