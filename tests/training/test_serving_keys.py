"""Keys, names and what they open, on the database alone."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from gpu_worker.environments import ENVIRONMENTS
from tests.conftest import MakeRun
from training.models import ApiKey, Checkpoint, Deployment, Group, Run
from training.serving import queries, services
from training.serving.errors import ApiError
from training.serving.keys import fresh_key, hash_of

TOOL = {"name": "find_order", "description": "", "parameters": {"type": "object", "properties": {}}}


def checkpoint(run: Run, step: int = 3, **columns: Any) -> Checkpoint:
    fields = {"directory": f"/runs/{run.pk}/{step:06d}", "sha256": f"{step:064d}", "bytes": 1, **columns}
    return Checkpoint.objects.create(run=run, step=step, **fields)


@pytest.fixture
def done(make_run: MakeRun) -> Run:
    run = make_run("desk", state=Run.State.DONE, config={"system_prompt": "You are the desk."})
    for step in (1, 2, 3):
        checkpoint(run, step)
    Group.objects.create(
        run=run,
        label="train",
        split="train",
        step=1,
        index=0,
        scenario_key="t1",
        prompt="?",
        tools=[TOOL],
        tries=0,
        successes=0,
        mean_reward=0,
        best_reward=0,
    )
    return run


def bearer(owner: User, name: str = "shop") -> str:
    return f"Bearer {services.make_key(owner=owner, name=name)[1]}"


def refusal(authorization: str, model: str = "desk") -> ApiError:
    with pytest.raises(ApiError) as caught:
        queries.target_of(authorization, model)
    return caught.value


def test_a_key_is_kept_as_prefix_and_hash_only(user: User) -> None:
    row, key = services.make_key(owner=user, name=" shop ")
    assert key.startswith("art_") and len(key) == 47
    row.refresh_from_db()
    assert (row.name, row.prefix, row.sha256) == ("shop", key[:12], hash_of(key))
    assert key[12:] not in "".join(str(value) for value in ApiKey.objects.values_list().get())


def test_names_of_working_keys_differ(user: User, other_user: User) -> None:
    row, _ = services.make_key(owner=user, name="shop")
    with pytest.raises(services.Refused, match="already have a key"):
        services.make_key(owner=user, name="shop")
    services.make_key(owner=other_user, name="shop")
    services.revoke_key(key=row)
    services.make_key(owner=user, name="shop")
    for name in ("", " ", "x" * 81, "a\0b"):
        with pytest.raises(services.Refused, match="1 to 80"):
            services.make_key(owner=user, name=name)


def test_a_name_leads_to_its_checkpoint_with_the_agents_prompt_and_tools(done: Run, user: User) -> None:
    services.deploy_run(done)
    target = queries.target_of(bearer(user), "desk")
    assert target.adapter.endswith("000003") and target.sha256.endswith("3")
    assert (target.system_prompt, target.tools, target.base_model) == (
        "You are the desk.",
        (TOOL,),
        "embedded",
    )


def test_without_a_prompt_of_its_own_an_agent_has_its_environments(
    done: Run, user: User, make_run: MakeRun
) -> None:
    checkpoint(make_run("bare", state=Run.State.DONE, config={"system_prompt": ""}))
    prompt = queries.target_of(bearer(user), "bare@3").system_prompt
    assert prompt == ENVIRONMENTS["order_desk"].system_prompt != ""


def test_run_at_step_leads_to_that_step(done: Run, user: User) -> None:
    assert queries.target_of(bearer(user), "desk@2").adapter.endswith("000002")
    for name in ("desk@4", "desk@", "desk@-1", "desk@99999999999999999999", "@2", "desk@2@2"):
        assert refusal(bearer(user, name), name).status == 404


def test_one_query_decides_and_one_reads(done: Run, user: User, django_assert_num_queries: Any) -> None:
    services.deploy_run(done)
    authorization = bearer(user)
    with django_assert_num_queries(3):  # the third notes the first use
        queries.target_of(authorization, "desk")
    with django_assert_num_queries(2):
        queries.target_of(authorization, "desk")


def test_a_foreign_model_looks_like_one_that_is_not_there(done: Run, other_user: User) -> None:
    services.deploy_run(done)
    authorization = bearer(other_user)
    for name in ("desk", "desk@3"):
        foreign = refusal(authorization, name)
        done_name = refusal(authorization, name.replace("desk", "none"))
        assert (foreign.status, foreign.code) == (404, "model_not_found")
        assert foreign.message.replace("desk", "none") == done_name.message


def test_the_same_alias_of_two_owners_stays_apart(
    done: Run, make_run: MakeRun, user: User, other_user: User
) -> None:
    services.deploy_run(done)
    theirs = checkpoint(make_run("theirs", owner=other_user, state=Run.State.DONE))
    services.deploy(owner=other_user, alias="desk", checkpoint=theirs)
    assert queries.target_of(bearer(user), "desk").adapter != theirs.directory
    assert queries.target_of(bearer(other_user), "desk").adapter == theirs.directory


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer art_",
        "Bearer " + "x" * 47,
        f"Bearer {fresh_key()}",
        f"Bearer {fresh_key()}{fresh_key()}",
        "Bearer art_" + "é" * 43,
        "Bearer art_" + "\0" * 43,
        f"Basic {fresh_key()}",
        fresh_key(),
    ],
)
def test_what_is_not_a_working_key_is_refused_alike(authorization: str, db: None) -> None:
    error = refusal(authorization)
    assert (error.status, error.code) == (401, "invalid_api_key")
    assert error.message == refusal("").message


def test_a_key_with_a_known_prefix_still_needs_the_rest(done: Run, user: User) -> None:
    _, key = services.make_key(owner=user, name="shop")
    forged = key[:12] + fresh_key()[12:]
    assert refusal(f"Bearer {forged}").status == 401


def test_a_revoked_key_and_a_key_of_a_closed_account_are_refused(done: Run, user: User) -> None:
    row, key = services.make_key(owner=user, name="shop")
    services.revoke_key(key=row)
    assert refusal(f"Bearer {key}").status == 401
    authorization = bearer(user, "second")
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert refusal(authorization).status == 401


def test_last_use_is_noted_at_most_once_a_minute(done: Run, user: User) -> None:
    row, key = services.make_key(owner=user, name="shop")
    queries.check_key(f"Bearer {key}")
    row.refresh_from_db()
    first = row.last_used_at
    assert first is not None
    queries.check_key(f"Bearer {key}")
    row.refresh_from_db()
    assert row.last_used_at == first
    ApiKey.objects.filter(pk=row.pk).update(last_used_at=timezone.now() - 2 * queries.USE_IS_NOTED_EVERY)
    queries.check_key(f"Bearer {key}")
    row.refresh_from_db()
    assert row.last_used_at > first


def test_a_finished_run_is_deployed_once_under_its_name(done: Run) -> None:
    first = services.deploy_run(done)
    assert first is not None and first.checkpoint.step == 3
    assert services.deploy_run(done) == first
    assert Deployment.objects.count() == 1


def test_a_finished_run_is_deployed_with_the_evaluated_weights(done: Run) -> None:
    done.summary = {"weights_sha256": f"{2:064d}"}
    deployment = services.deploy_run(done)
    assert deployment is not None and deployment.checkpoint.step == 2


def test_a_finished_run_never_takes_a_name_away(done: Run, make_run: MakeRun, user: User) -> None:
    other = checkpoint(make_run("other", state=Run.State.DONE))
    services.deploy(owner=user, alias="desk", checkpoint=other)
    assert services.deploy_run(done) is None
    assert Deployment.objects.get().checkpoint == other


def test_a_run_without_checkpoints_is_not_deployed(make_run: MakeRun) -> None:
    assert services.deploy_run(make_run(state=Run.State.DONE)) is None


def test_promoting_moves_the_name(done: Run, user: User) -> None:
    services.deploy_run(done)
    services.deploy(owner=user, alias="desk", checkpoint=done.checkpoints.get(step=1))
    assert queries.target_of(bearer(user), "desk").adapter.endswith("000001")
    assert Deployment.objects.count() == 1


def test_what_cannot_be_deployed_says_why(done: Run, make_run: MakeRun, user: User, other_user: User) -> None:
    good = done.checkpoints.get(step=3)
    for alias in ("", "a b", "a@1", "a/b", "-a", "x" * 81):
        with pytest.raises(services.Refused, match="letters"):
            services.deploy(owner=user, alias=alias, checkpoint=good)
    with pytest.raises(services.Refused, match="somebody else"):
        services.deploy(owner=other_user, alias="desk", checkpoint=good)
    with pytest.raises(services.Refused, match="are gone"):
        services.deploy(owner=user, alias="old", checkpoint=checkpoint(done, 9, kept=False))
    going = checkpoint(make_run("going", state=Run.State.TRAINING))
    with pytest.raises(services.Refused, match="has not ended"):
        services.deploy(owner=user, alias="going", checkpoint=going)


def test_a_checkpoint_whose_files_are_gone_answers_no_more(done: Run, user: User) -> None:
    services.deploy_run(done)
    done.checkpoints.update(kept=False)
    authorization = bearer(user)
    assert refusal(authorization, "desk").status == 404
    assert refusal(authorization, "desk@3").status == 404


def test_the_list_of_models_holds_names_then_steps_of_this_owner_only(
    done: Run, make_run: MakeRun, user: User, other_user: User
) -> None:
    services.deploy_run(done)
    checkpoint(make_run("theirs", owner=other_user, state=Run.State.DONE))
    done.checkpoints.filter(step=1).update(kept=False)
    assert [name.id for name in queries.models_of(bearer(user))] == ["desk", "desk@3", "desk@2"]
