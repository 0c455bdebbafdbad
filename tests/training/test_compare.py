"""Comparisons: what the run recorded is taken over, what is missing is played, and the report tells it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging.spending import BudgetSpent, Purse
from tests import stories
from tests.conftest import MakeRun
from tests.judging.provider import Provider, provider, refusal
from training.authoring.office import errands
from training.judges import providers
from training.models import Checkpoint, Comparison, ComparisonTry, Errand, Run, RunScenarios
from training.review.compare import contenders, exports, held_out, playing, queries, services
from training.review.compare.blind.tally import Tally
from training.review.compare.report import Report
from training.review.compare.services import Wanted

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE = "<script>alert(1)</script>|![x](http://evil.example/x.png)\n# <b>`=1+1`"


def scenario_values(count: int, tags: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    found = []
    for index in range(count):
        one = stories.scenario(70_000 + index)
        shown = [tags[index % len(tags)]] if tags else []
        told = {"id": one.id, "split": "test", "messages": list(one.messages), "tags": shown}
        found.append({**told, "expect": one.expect})
    return found


@pytest.fixture
def told(make_run: MakeRun) -> Run:
    """A finished run whose evaluations of 20 unseen scenarios, before and after, are recorded."""
    run = make_run(steps=2, config={"environment": "order_desk", "steps": 2, "reward": "checks"})
    RunScenarios.objects.filter(run=run).update(values=scenario_values(20, ("late", "refund")))
    stories.tell(run, stories.training(2, 2, 20), end="done")
    Checkpoint.objects.filter(run=run).update(kept=True)
    return Run.objects.get(pk=run.pk)


def wanted(**changes: Any) -> Wanted:
    return Wanted(**{"own": ["base", "step-2"], "count": 20} | changes)


def started(run: Run, **changes: Any) -> Comparison:
    return services.start(owner=run.owner, run=run, wanted=wanted(**changes), request_id="once")


def form(run: Run, client: Client, **changes: Any) -> dict[str, Any]:
    page = client.get(reverse("comparisons", args=[run.pk]))
    filled = page.context["filled"]
    sent = {name: filled[name] for name in ("own", "count", "temperature", "max_tokens", "budget", "name")}
    return {**sent, "request_id": page.context["request_id"], **changes}


def test_what_the_run_recorded_is_taken_over_and_nothing_is_played_again(told: Run) -> None:
    made = started(told)
    assert made.errand is None and made.tries.count() == 40
    report = Report(made)
    before, after = report.columns
    assert (before.successes, after.successes) == (
        told.groups.filter(label="baseline", successes=1).count(),
        told.groups.filter(label="trained", successes=1).count(),
    )
    assert report.over and after.paired is not None and after.paired.difference > 0
    assert after.paired.wins + after.paired.ties + after.paired.losses == 20


def test_another_temperature_is_another_comparison(told: Run) -> None:
    made = started(told, temperature=0.5)
    assert made.tries.count() == 0 and made.errand is not None and made.errand.kind == "compare"


def test_tries_stand_only_for_their_own_place(told: Run) -> None:
    values = scenario_values(20)
    RunScenarios.objects.filter(run=told).update(values=[values[1], values[0], *values[2:]])
    told = Run.objects.get(pk=told.pk)
    unseen = held_out.of(told)
    keys = unseen.chosen(20)
    assert len(held_out.recorded(told, unseen, keys, contenders.base())) == 18
    assert held_out.recorded_count(told, unseen, keys, contenders.base()) == 18


def test_the_same_request_starts_one_comparison(told: Run, client: Client) -> None:
    client.force_login(told.owner)
    sent = form(told, client)
    url = reverse("comparisons", args=[told.pk])
    first, second = client.post(url, sent), client.post(url, sent | {"name": "changed"})
    assert first.status_code == 302 and first.headers["Location"] == second.headers["Location"]
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"own": ["base"]}, "at least two contenders"),
        ({"own": ["base", "step-77"]}, "not kept any more"),
        ({"count": "0"}, "Scenarios: give a number"),
        ({"temperature": "hot"}, "Temperature: give a number"),
        ({"budget": "nan"}, "Cap: give a number"),
        ({"tag": ["nobody"]}, "No unseen scenario bears"),
        ({"other": "nowhere:gpt"}, "no provider called nowhere"),
        ({"other": "artweb/offline"}, "only judges"),
        ({"other": "custom_openai/unheard-of"}, "Nobody here knows the price"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    told: Run, client: Client, changes: dict[str, Any], words: str
) -> None:
    client.force_login(told.owner)
    answer = client.post(reverse("comparisons", args=[told.pk]), form(told, client, **changes))
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not Comparison.objects.exists()


def test_regressions_come_first_and_can_be_filtered(told: Run) -> None:
    made = started(told)
    report = Report(made)
    kinds = ["lost" if line.lost else "won" if line.won else "" for line in report.lines]
    assert kinds == sorted(kinds, key=["lost", "won", ""].index)
    assert len(report.shown("won")) == report.columns[1].paired.wins  # type: ignore[union-attr]
    assert len(report.shown("all")) == 20
    turned = Report(made, "step-2")
    assert turned.contenders[0].key == "step-2"
    assert len(turned.shown("lost")) == len(report.shown("won"))


@pytest.mark.parametrize(("wins", "verdict"), [(0, "open"), (5, "open"), (6, "better"), (12, "better")])
def test_better_is_said_only_where_interval_and_exact_test_agree(told: Run, wins: int, verdict: str) -> None:
    made = started(told)
    made.tries.update(success=False)
    won = list(made.tries.filter(contender="step-2").values_list("pk", flat=True)[:wins])
    ComparisonTry.objects.filter(pk__in=won).update(success=True)
    column = Report(made).columns[1]
    assert column.verdict == verdict
    assert (column.paired.interval[0] > 0) == (wins >= 5)  # type: ignore[union-attr]


def test_whoever_never_played_is_neither_better_nor_worse(told: Run) -> None:
    made = started(told)
    made.tries.filter(contender="step-2").delete()
    assert Report(made).columns[1].verdict == "absent"


def test_missing_cases_are_shown_and_never_pass(told: Run) -> None:
    made = started(told)
    won = made.tries.filter(contender="step-2", success=True)
    first, second = won[0], won[1]
    ComparisonTry.objects.filter(pk=first.pk).update(error="The provider hung up.")
    second.delete()
    report = Report(made)
    assert report.columns[1].missing == 2
    assert report.columns[1].successes == told.groups.filter(label="trained", successes=1).count() - 2
    assert {line.key for line in report.shown("missing")} == {first.scenario_key, second.scenario_key}


def test_while_it_is_played_only_common_scenarios_count(told: Run) -> None:
    made = started(told)
    errand = Errand.objects.create(owner=told.owner, agent=told.agent, kind="compare", state="working")
    Comparison.objects.filter(pk=made.pk).update(errand=errand)
    made.tries.filter(contender="step-2").last().delete()  # type: ignore[union-attr]
    report = Report(Comparison.objects.get(pk=made.pk))
    assert not report.over and len(report.counted) == 19 and report.missing == 0


def test_several_contenders_are_corrected_for(told: Run) -> None:
    made = started(told, models=["openai/gpt-4.1-mini"])
    Errand.objects.filter(pk=made.errand_id).update(state="cancelled")
    report = Report(Comparison.objects.get(pk=made.pk))
    assert report.several and all(column.corrected is not None for column in report.columns[1:])
    assert report.columns[2].missing == 20 and report.columns[2].cost is None


def test_the_report_page_its_filters_and_cases(told: Run, client: Client) -> None:
    client.force_login(told.owner)
    made = started(told)
    url = reverse("comparison", args=[made.pk])
    for query in ("", "?show=lost", "?show=won&of=step-2", "?against=step-2&show=all", "?show=%00&of=x"):
        page = client.get(url + query)
        assert page.status_code == 200
    text = client.get(url + "?show=all").content.decode()
    assert "Untrained model" in text and "Checkpoint of step 2" in text and "By tag" in text
    case = client.get(reverse("comparison_case", args=[made.pk, "s70003"])).content.decode()
    assert case.count("compare-head") == 2 and "compare-turn-" in case and 'rel="next"' in case
    assert client.get(reverse("comparison_case", args=[made.pk, "nothing"])).status_code == 404


def test_nobody_else_sees_it(told: Run, other_user: User, client: Client) -> None:
    made = started(told)
    client.force_login(other_user)
    for name in ("comparison", "comparison_part", "comparison_markdown", "comparison_csv"):
        assert client.get(reverse(name, args=[made.pk])).status_code == 404
    for name in ("delete_comparison", "restore_comparison", "go_on_comparison"):
        assert client.post(reverse(name, args=[made.pk])).status_code == 404
    assert client.get(reverse("comparison_case", args=[made.pk, "s70003"])).status_code == 404
    assert client.get(reverse("comparisons", args=[told.pk])).status_code == 404
    assert client.get(reverse("comparison_forecast", args=[told.pk])).status_code == 404


def test_a_deleted_comparison_comes_back(told: Run, client: Client) -> None:
    client.force_login(told.owner)
    made = started(told)
    page = client.post(reverse("delete_comparison", args=[made.pk]), follow=True).content.decode()
    assert "Undo" in page and reverse("comparison", args=[made.pk]) not in page.replace("/restore/", "!")
    client.post(reverse("restore_comparison", args=[made.pk]))
    assert (
        reverse("comparison", args=[made.pk])
        in client.get(reverse("comparisons", args=[told.pk])).content.decode()
    )


def test_hostile_texts_stay_texts_everywhere(told: Run, client: Client) -> None:
    client.force_login(told.owner)
    values = scenario_values(20, (HOSTILE,))
    values[0]["messages"] = [{"role": "user", "content": HOSTILE}]
    RunScenarios.objects.filter(run=told).update(values=values)
    told = Run.objects.get(pk=told.pk)
    made = started(told, name=HOSTILE)
    row = made.tries.get(contender="step-2", scenario_key="s70000")
    row.error = HOSTILE
    row.save()
    ComparisonTry.objects.filter(comparison=made, contender="base").update(
        messages=[{"role": "assistant", "content": HOSTILE}], scores=[["checks", 0.0, HOSTILE]]
    )
    for name, arguments in (("comparison", [made.pk]), ("comparison_case", [made.pk, "s70000"])):
        page = client.get(reverse(name, args=arguments) + "?show=all").content.decode()
        assert "<script>alert" not in page and "&lt;script&gt;" in page
    report = client.get(reverse("comparison_markdown", args=[made.pk])).content.decode()
    assert "<script" not in report and "](http" not in report and "://" not in report
    sheet = client.get(reverse("comparison_csv", args=[made.pk])).content.decode("utf-8-sig")
    assert "\n=" not in sheet and ",=" not in sheet


def test_markdown_is_a_sound_table(told: Run) -> None:
    report = Report(started(told))
    text = exports.markdown(report, Tally(report, told.owner))
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 3
    for table in tables:
        assert len({line.count("|") for line in table}) == 1, table[0]
        assert set(table[1]) <= set("|- ")
    assert text.startswith("# ") and "## By tag" in text and "McNemar" in text


def test_escaped_text_has_no_markup_left() -> None:
    found = exports.escaped("a | b\n# c ![x](https://e.example) <i> me@e.example `x`")
    assert not set(found) & set("|!()[]<`@\n/")
    assert exports.escaped("plain words") == "plain words"


def test_the_csv_defuses_formulas(told: Run) -> None:
    values = scenario_values(20, ("=cmd()",))
    RunScenarios.objects.filter(run=told).update(values=values)
    sheet = exports.csv(Report(started(Run.objects.get(pk=told.pk)))).decode("utf-8-sig")
    assert "'=cmd()" in sheet and sheet.count("\n") == 41


def test_the_forecast_says_what_is_left_to_play(told: Run, client: Client) -> None:
    client.force_login(told.owner)
    url = reverse("comparison_forecast", args=[told.pk])
    told_now = client.get(url, form(told, client)).content.decode()
    assert "0 tries to play" in told_now and "40 more are taken over" in told_now
    outside = client.get(url, form(told, client, other="openai/gpt-4.1-mini")).content.decode()
    assert "20 tries to play" in outside and "$" in outside
    assert "nobody here knows the price" in client.get(url, form(told, client, other="x/y")).content.decode()
    assert "at least two" in client.get(url, form(told, client, own=[])).content.decode()


def test_an_empty_page_says_what_to_do(make_run: MakeRun, client: Client) -> None:
    run = make_run()
    client.force_login(run.owner)
    page = client.get(reverse("comparisons", args=[run.pk])).content.decode()
    assert "Nothing has been compared yet" in page and "No checkpoint is kept yet" in page
    RunScenarios.objects.filter(run=run).update(values=[])
    assert "no unseen scenarios" in client.get(reverse("comparisons", args=[run.pk])).content.decode()


def test_the_time_left_is_told_after_some_tries() -> None:
    assert queries.remaining(None) is None
    assert queries.remaining(Errand(state="working", done=2, total=9)) is None


# Playing


@contextmanager
def outside_model(script: Any) -> Iterator[Provider]:
    """The scripted provider in a loop of its own thread: whoever plays has another."""
    ready, over = threading.Event(), asyncio.Event()
    there: list[Provider] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with provider() as found:
            found.script = script
            there.append(found)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(60)
    try:
        yield there[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)
        loop.close()


def says(text: str | None = None, calls: list[tuple[str, str]] | None = None, **changes: Any) -> web.Response:
    made = [
        {"id": f"x{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls or ())
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop", **changes}
    return web.json_response(
        {
            "id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
    )  # fmt: skip


@pytest.fixture
def desk_run(make_run: MakeRun) -> Run:
    config = {"environment": "order_desk", "steps": 1, "reward": "checks", "max_turns": 4}
    return make_run(config=config, state="done")


def reached(run: Run, there: Provider, settings: Any) -> None:
    """The scripted provider as one of the owner's, at a price."""
    door = there.url.split("/")[2]
    settings.TOOL_HOSTS = frozenset({door})
    draft = providers.Draft(
        name="mine", kind="url", api_base=there.url, key="secret-key", models={"m": [1, 2]}
    )
    providers.add(run.owner, draft)


def play(comparison: Comparison, monkeypatch: pytest.MonkeyPatch, purse: Purse | None = None) -> list[Any]:
    """As the errand does it, in this process."""
    lines: list[Any] = []
    monkeypatch.setattr(playing, "tell", lambda **what: lines.append(json.loads(json.dumps(what))))
    playing.played(Comparison.objects.get(pk=comparison.pk), purse or Purse(5.0))
    for line in lines:
        if "try" in line:
            services.store(comparison, line["try"])
    Errand.objects.filter(pk=comparison.errand_id).update(state="done")
    return lines


def test_an_outside_model_plays_with_tools_beside_the_untrained_one(
    desk_run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(body: dict[str, Any]) -> web.Response:
        if body["messages"][-1]["role"] == "tool":
            assert body["messages"][-2]["tool_calls"][0]["id"] == body["messages"][-1]["tool_call_id"]
            return says("It was shipped.")
        return says(None, [("find_orders", '{"column": "order_id", "value": "OR-1"}')])

    with outside_model(script) as there:
        reached(desk_run, there, settings)
        made = started(desk_run, own=["base"], models=["mine:m"], count=2)
        lines = play(made, monkeypatch)
        assert all("tools" in body and body["max_tokens"] == 1024 for body in there.asked)
    report = Report(made)
    base, model = report.columns
    assert (model.successes, model.missing, model.turns, model.tokens) == (2, 0, 2.0, 20.0)
    assert model.cost == pytest.approx(2 * (100 * 1 + 10 * 2) / 1e6) and base.cost == 0.0
    assert base.missing == 0 and base.seconds and model.seconds
    row = made.tries.get(contender="model-1", scenario_key="e1")
    assert [message["role"] for message in row.messages[-3:]] == ["assistant", "tool", "assistant"]
    assert [line["done"] for line in lines if "done" in line][-1] == 4


def test_errors_of_a_provider_are_missing_cases_and_are_played_again_on_request(
    desk_run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"now": lambda: refusal(401, "no such key")}
    with outside_model(lambda body: answers["now"]()) as there:
        reached(desk_run, there, settings)
        made = started(desk_run, own=["base"], models=["mine:m"], count=2)
        play(made, monkeypatch)
        report = Report(made)
        assert report.columns[1].missing == 2 and report.columns[1].successes == 0
        assert "does not accept the key" in made.tries.filter(contender="model-1")[0].error
        answers["now"] = lambda: says("It was shipped.")
        services.go_on(made, 5.0)
        lines = play(made, monkeypatch)
    assert sum("try" in line for line in lines) == 2  # the untrained model was not played again
    assert Report(made).columns[1].successes == 2


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (lambda: says(None, [("find_orders", "{nonsense")]), "malformed_call"),
        (lambda: says(None, [("find_orders", "[1]")]), "malformed_call"),
        (lambda: says(None, [("rm -rf", "{}")]), "unknown_tool"),
        (lambda: says("It was ship", finish_reason="length"), "cut_off"),
        (lambda: says(None, [("find_orders", '{"column": "order_id", "value": "1"}')]), "too_many_turns"),
        (lambda: says(None), "answered"),
    ],
)
def test_what_an_outside_model_does_wrong_is_its_own_failure(
    desk_run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch, answer: Any, ended: str
) -> None:
    with outside_model(lambda body: answer()) as there:
        reached(desk_run, there, settings)
        made = started(desk_run, own=["base"], models=["mine:m"], count=1)
        made.contenders = made.contenders[1:]
        made.save()
        play(made, monkeypatch)
    row = made.tries.get(contender="model-1")
    assert (row.ended, row.success, row.error) == (ended, False, "")


def test_a_checkpoint_whose_files_are_gone_is_missing_not_failed(
    desk_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"directory": "/nowhere/000001", "sha256": "0" * 64, "bytes": 1}
    Checkpoint.objects.create(run=desk_run, step=1, **columns)
    made = started(desk_run, own=["base", "step-1"], count=1)
    play(made, monkeypatch)
    row = made.tries.get(contender="step-1")
    assert row.error and not row.success
    assert made.tries.get(contender="base").error == ""


def test_a_model_the_owner_cannot_reach_is_missing(
    desk_run: Run, other_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = started(desk_run, own=["base"], models=["theirs:m"], count=1)
    play(made, monkeypatch)
    assert "no provider called theirs" in made.tries.get(contender="model-1").error


def test_a_cancelled_comparison_keeps_what_was_played(desk_run: Run) -> None:
    made = started(desk_run, own=["base"], models=["openai/x"], count=2)
    services.store(made, {"contender": "base", "scenario_key": "e1", "success": True, "reward": 1.0})
    assert made.errand is not None
    errands.cancel(made.errand)
    report = Report(Comparison.objects.get(pk=made.pk))
    assert report.over and report.columns[0].successes == 1 and report.missing == 3


def test_a_cap_stops_before_it_is_passed_and_leaves_the_rest_missing(
    desk_run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outside_model(lambda body: says("It was shipped.")) as there:
        reached(desk_run, there, settings)
        made = started(desk_run, own=["base"], models=["mine:m"], count=2)
        with pytest.raises(BudgetSpent):
            play(made, monkeypatch, Purse(0.0001))
        assert there.asked == []
    Errand.objects.filter(pk=made.errand_id).update(state="failed", error="The cap was reached.")
    report = Report(Comparison.objects.get(pk=made.pk))
    assert report.over and report.columns[1].missing == 2 and report.columns[1].successes == 0
