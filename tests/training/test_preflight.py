"""What is checked before a run: by the page from its rows, by the desk where that takes a while."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from gpu_worker.types import AUTHORED
from judging import llm
from judging.llm import Refused
from judging.spending import Purse
from training.authoring.launch import estimate, inspection, memory, preflight, smoke, smoke_tries
from training.authoring.office import errands
from training.models import Agent, Errand, Run, Scenario, Tool

pytestmark = pytest.mark.django_db
JUDGE = "openai/gpt-4o-mini"


def checked(agent: Agent) -> dict[str, preflight.Check]:
    return {check.name: check for check in preflight.checks(agent, estimate.of(agent))}


def inspected(agent: Agent, *, judge: bool = True, worker: bool = True, **told: Any) -> Errand:
    result = {
        "judge": {"model": agent.judge_model, "ok": judge, "says": "a wrong key", "seconds": 0.4},
        "worker": {"ok": worker},
        "secrets": {"ok": True, "says": ""},
    }
    return Errand.objects.create(
        owner=agent.owner, agent=agent, kind="inspect", state="done", result=result | told,
        finished_at=timezone.now(),
    )  # fmt: skip


def smoked(agent: Agent, **told: Any) -> Errand:
    result = {
        "base_model": agent.base_model, "edits": agent.edits, "groups": 4, "tied": 0, "tries": 16,
        "successes": 8, "tokens": 400, "seconds": 1.2, "judge": "checks", "unjudged": "", "shown": [],
    }  # fmt: skip
    return Errand.objects.create(
        owner=agent.owner, agent=agent, kind="smoke", state="done", result=result | told
    )


def doing(agent: Agent, kind: str) -> errands.Doing:
    errand = Errand.objects.create(owner=agent.owner, agent=agent, kind=kind, state="working")
    return errands.Doing(errand)


def test_what_another_page_lacks_blocks_and_leads_there(agent: Agent) -> None:
    agent.scenarios.filter(split="test").delete()
    Agent.objects.filter(pk=agent.pk).update(description="")
    found = preflight.blocking(preflight.checks(Agent.objects.get(pk=agent.pk), estimate.of(agent)))
    assert {check.url for check in found} >= {
        f"/agents/{agent.pk}/{slug}/" for slug in ("describe", "scenarios")
    }


def test_a_judge_that_costs_nothing_is_always_there(agent: Agent) -> None:
    assert checked(agent)["Judge"].state == "ok"
    agent.config = {"reward": "checks"}
    agent.judge_model = JUDGE
    assert checked(agent)["Judge"].state == "ok"


def test_what_the_desk_found_out_about_the_judge_counts_for_a_while(agent: Agent) -> None:
    agent.judge_model = JUDGE
    assert checked(agent)["Judge"].state == "unknown"
    found = inspected(agent)
    said = checked(agent)["Judge"].says
    assert said.startswith(f"{JUDGE} answered in 0.4 s; its key is valid. It costs $")
    Errand.objects.filter(pk=found.pk).update(finished_at=timezone.now() - timedelta(minutes=11))
    assert checked(agent)["Judge"].state == "unknown"
    inspected(agent, judge=False)
    assert (checked(agent)["Judge"].state, "a wrong key" in checked(agent)["Judge"].says) == ("blocks", True)
    agent.judge_model = "openai/another"
    assert checked(agent)["Judge"].state == "unknown"


def test_a_judge_of_unknown_price_is_said_and_stops_a_run_with_a_budget(agent: Agent) -> None:
    agent.judge_model = "nobody/knows-it"
    inspected(agent)
    assert checked(agent)["Judge"].state == "advice"
    agent.config = {"budget": 2.0}
    assert (checked(agent)["Judge"].state, checked(agent)["Judge"].mend) == ("blocks", "Say what it costs")


def test_a_judge_of_a_provider_that_is_not_there_blocks(agent: Agent) -> None:
    agent.judge_model = "mine:gpt-4.1-mini"
    assert "no provider called mine" in checked(agent)["Judge"].says
    assert checked(agent)["Judge"].state == "blocks"
    agent.config = {"reward": "mix", "mix": {"checks": 1.0}}
    assert checked(agent)["Judge"].state == "ok"


def test_without_a_worker_a_run_may_wait_but_it_is_said(agent: Agent) -> None:
    assert checked(agent)["Worker"].state == "unknown"
    inspected(agent, worker=False)
    assert checked(agent)["Worker"].state == "advice"


def test_a_worker_that_trains_is_seen_without_asking(agent: Agent, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(
        state="training", lease_until=timezone.now() + timedelta(seconds=60), worker="w"
    )
    assert "training another run" in checked(agent)["Worker"].says


def test_memory_and_disk_block_only_when_they_do_not_suffice(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    for free in (64e9, 3.2e9, 0.4e9):
        monkeypatch.setattr(memory, "free_bytes", lambda free=free: free)
        usage = type("Usage", (), {"free": free / 2})()
        monkeypatch.setattr(
            "training.authoring.launch.preflight.shutil.disk_usage", lambda path, usage=usage: usage
        )
        found = checked(agent)
        states.append((found["Memory"].state, found["Disk"].state))
    assert states == [("ok", "ok"), ("advice", "advice"), ("blocks", "blocks")]


def test_tools_not_called_since_their_last_change_are_named(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(environment=AUTHORED)
    agent.refresh_from_db()
    assert "no tools" in checked(agent)["Tools"].says
    tool = Tool.objects.create(
        agent=agent, name="ask_stock", description="Knows the stock.", kind="simulated",
        parameters={"type": "object", "properties": {}}, settings={"description": "The stock."},
    )  # fmt: skip
    untested = [
        c
        for c in preflight.checks(agent, estimate.of(agent))
        if "ask_stock" in c.says and c.state == "advice"
    ]
    assert untested and untested[0].url == f"/agents/{agent.pk}/tools/"
    Tool.objects.filter(pk=tool.pk).update(tested_at=timezone.now())
    assert not [
        c for c in preflight.checks(agent, estimate.of(agent)) if "by hand" in c.says and c.state != "ok"
    ]


@pytest.mark.parametrize(
    ("told", "word", "tone"),
    [
        ({}, "useful", "good"),
        ({"tied": 4, "successes": 16}, "too easy", "warn"),
        ({"tied": 4, "successes": 0}, "too hard", "bad"),
        ({"tied": 3, "successes": 8}, "mostly tied", "warn"),
        ({"tied": 2, "successes": 16}, "useful", "good"),
        ({"groups": 0, "tries": 0, "successes": 0}, "useful", "good"),
    ],
)
def test_tied_groups_are_told_in_words(agent: Agent, told: dict[str, int], word: str, tone: str) -> None:
    found = smoke.verdict(smoked(agent, **told).result)
    assert (found.word, found.tone) == (word, tone)
    assert checked(agent)["Smoke try"].says == found.advice


def test_a_smoke_try_of_another_agent_as_it_was_is_called_old(agent: Agent) -> None:
    result = smoked(agent).result
    assert not smoke.stale(agent, result)
    agent.edits += 1
    assert smoke.stale(agent, result)


def test_the_judge_is_really_asked_and_a_wrong_key_is_told(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def complete(self: llm.Model, messages: Sequence[Any], **options: Any) -> str:
        asked.append(self.name)
        raise Refused(f"{self.name} does not accept the key")

    monkeypatch.setattr(llm.Model, "complete", complete)
    monkeypatch.setattr(inspection, "workers", lambda: ["gpu@here"])
    agent.judge_model = JUDGE
    agent.save()
    found = inspection.inspect(doing(agent, "inspect"))
    assert asked == [JUDGE]
    assert (found["judge"]["ok"], "does not accept the key" in found["judge"]["says"]) == (False, True)
    assert found["worker"] == {"ok": True} and found["secrets"]["ok"]


def test_the_desk_is_no_worker_that_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [{"desk@here": {"ok": "pong"}}]
    monkeypatch.setattr(inspection.current_app.control, "ping", lambda timeout: answers)
    assert inspection.workers() == []
    answers.append({"gpu@here": {"ok": "pong"}})
    assert inspection.workers() == ["gpu@here"]


def test_a_smoke_try_plays_judges_and_shows_real_tries(
    agent: Agent, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the embedded model; in this process, since that of the errand has the installation's database."""
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(smoke_tries, "tell", lambda **what: told.append(what))
    job, purse = smoke_tries.job_of(agent, "unused"), Purse()
    result = asyncio.run(smoke_tries.smoke(job, smoke_tries.environment_of(agent, job, purse), purse))
    assert (result["groups"], result["tries"], result["judge"]) == (2, 8, "rule-based, offline")
    assert told[-1]["what"] == "judging" and told[-2]["done"] == 8
    assert result["tokens"] > 0 and result["seconds"] > 0
    smoked(agent, **result)
    client.force_login(agent.owner)
    page = client.get(reverse("review", args=[agent.pk])).content.decode()
    assert "Where is order t1?" in page and 'id="g1t4m' in page


def test_a_smoke_try_without_scenarios_says_what_to_do(agent: Agent) -> None:
    Scenario.objects.all().delete()
    with pytest.raises(errands.Failed, match="no scenarios to practise on"):
        smoke.smoke(doing(agent, "smoke"))


def test_a_process_that_dies_is_told_with_its_last_words(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTWEB_DATA", "/proc/nowhere")
    with pytest.raises(errands.Failed, match="ended unexpectedly: .+"):
        smoke.smoke(doing(agent, "smoke"))


def test_pages_of_checks_and_smoke_belong_to_their_owner(
    client: Client, agent: Agent, other_user: User
) -> None:
    client.force_login(other_user)
    for name in ("review", "checks_part", "smoke_part"):
        assert client.get(reverse(name, args=[agent.pk])).status_code == 404
    for name in ("start_run", "try_agent", "inspect_agent", "save_preset", "restore_preset"):
        assert client.post(reverse(name, args=[agent.pk])).status_code == 404
        assert client.get(reverse(name, args=[agent.pk])).status_code == 405
    client.logout()
    assert client.get(reverse("review", args=[agent.pk])).status_code == 302
    assert not Errand.objects.exists() and not Run.objects.exists()


def test_one_errand_of_a_kind_at_a_time(client: Client, agent: Agent) -> None:
    client.force_login(agent.owner)
    for _time in range(2):
        for name in ("try_agent", "inspect_agent"):
            assert client.post(reverse(name, args=[agent.pk])).status_code == 302
    assert sorted(Errand.objects.values_list("kind", flat=True)) == ["inspect", "smoke"]
