"""The judge lab: judges asked again about recorded groups, what is told of them, and who may see it."""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gpu_worker.tools import aside
from judging import offline
from judging.rubric import DEFAULT, unwrapped
from tests import stories
from tests.judging import provider as scripted
from training.authoring.office import desk, errands, tasks
from training.judges import human, providers
from training.judges.lab import matrix, queue
from training.judges.lab.cost import foretold
from training.judges.lab.questions import Hearing, unanswered
from training.judges.lab.sources import sha256_of, sources
from training.judges.lab.strips import strips
from training.models import Errand, Group, JudgeTrial, Ranking, RubricVersion, Run, Score

pytestmark = pytest.mark.django_db(transaction=True)
MakeRun = Callable[..., Run]


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids of errands that the queue was told of."""
    told: list[int] = []
    monkeypatch.setattr(tasks, "send", told.append)
    return told


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def told(run: Run) -> Run:
    return stories.tell(run, stories.training(2, 4, 2), end=Run.State.DONE)


@pytest.fixture
def group(told: Run) -> Group:
    return Group.objects.filter(run=told, label="train", tied=False).order_by("pk")[0]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, user: User) -> Iterator[scripted.Provider]:
    """A judge behind real HTTP; the lab calls it local:scripted."""
    opened = scripted.provider()

    async def enter() -> scripted.Provider:
        return await opened.__aenter__()

    async def leave() -> None:
        await opened.__aexit__(None, None, None)

    there = aside.wait_for(enter(), 30)
    reached = there.model().access
    real = providers.access_for
    monkeypatch.setattr(
        providers,
        "access_for",
        lambda owner, name: reached if name == "openai/scripted" else real(owner, name),
    )
    yield there
    aside.wait_for(leave(), 30)


def by_place(body: dict[str, Any], late: bool = False) -> str:
    """A judge that only looks at places: the earlier, the better, or the later."""
    ids = list(scripted.frames(body))[:: -1 if late else 1]
    entries = [{"trajectory_id": i, "explanation": "", "score": 1 - n / 10} for n, i in enumerate(ids)]
    return json.dumps({"scores": entries})


def selection_of(run: Run, count: int = 5) -> queue.Selection:
    return queue.selected(run, {"groups": str(count)})


def begun(owner: User, run: Run, cap: float, arguments: dict[str, Any]) -> Errand:
    return errands.start(owner=owner, kind="judge_lab", agent=run.agent, run=run.pk, cap=cap, **arguments)


def do(errand: Errand) -> Errand:
    desk.work(errand.pk)
    errand.refresh_from_db()
    return errand


def hear(owner: User, groups: list[Group], judge: str, flips: bool = False) -> list[JudgeTrial]:
    """A judge asked by the default rubric, once; with `flips` in both orders."""
    hearing = Hearing([group.pk for group in groups], [judge], [""], flips=flips, repeats=0)
    done = do(begun(owner, groups[0].run, 0.0, hearing.arguments))
    assert done.error == ""
    return list(JudgeTrial.objects.order_by("group", "-order"))


def test_a_judge_is_asked_again_and_the_run_stays_as_it_is(user: User, group: Group) -> None:
    before = list(group.trajectories.values_list("reward", "human"))
    trial, flipped = hear(user, [group], offline.MODEL, flips=True)
    assert (trial.order, flipped.order, trial.error) == ("seeded", "flipped", "")
    assert flipped.positions[0] == trial.positions[0][::-1]
    assert set(trial.scores) == {str(index) for index in range(8)}
    assert all(0 <= score <= 1 and why for score, why in trial.scores.values())
    assert trial.judging["calls"] == 1 and trial.judging["cost"] == 0
    assert list(group.trajectories.values_list("reward", "human")) == before


def test_a_judge_that_goes_by_places_is_found_out(user: User, told: Run, judge: scripted.Provider) -> None:
    judge.script = by_place
    hear(user, selection_of(told).groups, "openai/scripted", flips=True)
    found = {row.source.key: row for row in matrix.rows(sources(selection_of(told).groups, user, told.agent))}
    row = next(row for key, row in found.items() if key.startswith("openai/scripted"))
    assert row.flip and row.flip.value is not None and row.flip.value < 0
    assert row.bias and row.bias.value is not None and row.bias.value > 0
    assert row.seconds is not None and row.tokens == (1, 1)


def test_an_answer_that_cannot_be_used_is_kept_as_a_failure_and_asked_again(
    user: User, group: Group, judge: scripted.Provider
) -> None:
    judge.script = lambda body: "I would rather not."
    [failed] = hear(user, [group], "openai/scripted")
    assert "could not be used" in failed.error and failed.scores == {}
    hearing = Hearing([group.pk], ["openai/scripted"], [""], flips=False, repeats=0)
    assert len(unanswered(user, hearing.questions())) == 1
    judge.script = by_place
    assert [trial.error for trial in hear(user, [group], "openai/scripted")] == [""]
    assert unanswered(user, hearing.questions()) == []


def test_the_errand_asks_everybody_once_and_goes_on_where_it_was_stopped(user: User, told: Run) -> None:
    hearing = Hearing(selection_of(told).ids, [offline.MODEL], ["", "Be strict."])
    assert len(hearing.questions()) == 5 * 2 * 3
    arguments = hearing.arguments | {"run": told.pk, "cap": 1.0}
    done = do(errands.start(owner=user, kind="judge_lab", agent=told.agent, **arguments))
    assert (done.state, done.error) == ("done", "")
    assert (
        done.result == {"asked": 30, "failed": 0, "cost": 0.0, "unpriced": 0}
        and done.done == done.total == 30
    )
    again = do(errands.start(owner=user, kind="judge_lab", agent=told.agent, **arguments))
    assert again.result["asked"] == 0 and JudgeTrial.objects.count() == 30


def test_a_judge_nobody_can_reach_stops_the_errand_with_a_sentence(user: User, told: Run) -> None:
    arguments = Hearing(selection_of(told).ids, ["nowhere:model"], [""]).arguments
    done = do(begun(user, told, 1.0, arguments))
    assert done.state == "failed" and "nowhere" in done.error


def test_the_cap_stops_before_it_is_passed(user: User, told: Run, judge: scripted.Provider) -> None:
    """The scripted judge's price is unknown, so a cap cannot be kept and nothing is asked."""
    arguments = Hearing(selection_of(told).ids, ["openai/scripted"], [""]).arguments
    done = do(begun(user, told, 0.01, arguments))
    assert done.state == "failed" and "budget" in done.error and judge.asked == []


def test_groups_of_others_are_not_judged(other_user: User, told: Run) -> None:
    arguments = Hearing(selection_of(told).ids, [offline.MODEL], [""]).arguments
    done = do(begun(other_user, told, 0.0, arguments))
    assert done.state == "done" and not JudgeTrial.objects.exists()


def test_the_same_number_draws_the_same_groups_while_the_run_goes_on(make_run: MakeRun) -> None:
    run = stories.tell(make_run(steps=9), stories.training(9, 4, 2, stop_after=3))
    first = selection_of(run)
    assert len(first.ids) == 5 and not any(group.tied for group in first.groups)
    assert queue.selected(run, {"groups": "5", "seed": "2"}).ids != first.ids
    Group.objects.filter(pk=first.ids[0]).get()
    newer = Group.objects.get(pk=first.ids[0])
    newer.pk, newer.step = None, 99
    newer.save()
    asked = dict(pair.split("=") for pair in first.query.split("&"))
    assert queue.selected(run, asked).ids == first.ids


@pytest.mark.parametrize(
    "asked", [{"groups": "-1"}, {"groups": "x", "seed": "9" * 30}, {"until": "²"}, {"groups": ""}]
)
def test_nonsense_in_an_address_becomes_what_is_usual(told: Run, asked: dict[str, str]) -> None:
    found = queue.selected(told, asked)
    assert (found.count, found.seed) == (10, 1)


def test_you_are_compared_by_ranking_or_by_scores(user: User, told: Run) -> None:
    first, second = selection_of(told).groups[:2]
    human.rank(user, Ranking(group=first, places=[[index] for index in range(8)]))
    for trajectory in second.trajectories.all()[:3]:
        human.score(trajectory, value=trajectory.index / 10, reason="", author=user, use="calibration")
    you = sources([first, second], user, told.agent)[0]
    assert you.values[first.pk][0] == 8 and you.values[second.pk] == {0: 0.0, 1: 0.1, 2: 0.2}


def test_where_they_differ_most_comes_first(user: User, told: Run) -> None:
    groups = selection_of(told).groups[:3]
    judged = {source.key: source for source in sources(groups, user, told.agent)}["ruler"].values
    for number, group in enumerate(groups):
        order = sorted(judged[group.pk], key=lambda index: judged[group.pk][index], reverse=number != 1)
        human.rank(user, Ranking(group=group, places=[[index] for index in order]))
    found = strips(groups, [s for s in sources(groups, user, told.agent) if s.key in ("you", "ruler")])
    first, second = found.shown[:2]
    assert first.group == groups[1] and first.apart > 0.8 and first.best_differs
    assert second.apart < 0.2
    two = sources(groups, user, told.agent)[:2]
    assert [one.group for one in strips(groups, two, only_differing=True).shown] == [groups[1]]
    few = strips(groups, two, most=1)
    assert (len(few.shown), few.total) == (1, 3)


def test_the_page_tells_what_it_costs_before_and_what_came_of_it(ann: Client, user: User, told: Run) -> None:
    page = ann.get("/lab/", {"run": told.pk, "groups": 5})
    words = page.content.decode()
    assert page.status_code == 200 and "Rank them by hand" in words
    assert "+1 is the same order" in words and "it takes at least five" in words
    form = {
        "run": told.pk,
        "groups": "5",
        "judge": offline.MODEL,
        "rubric": sha256_of(""),
        "flips": "on",
        "repeats": "1",
    }
    estimate = ann.get("/lab/estimate/", form).content.decode()
    assert "15 questions to be asked." in estimate and "They cost nothing." in estimate
    answer = ann.post("/lab/ask/", form | {"cap": "0.50"})
    assert answer.status_code == 302
    errand = Errand.objects.get(kind="judge_lab")
    assert errand.arguments["cap"] == 0.5
    assert "Waiting for its turn" in ann.get(answer.headers["Location"]).content.decode()
    ann.post("/lab/ask/", form)  # while one is under way, nothing new begins
    assert Errand.objects.count() == 1
    do(errand)
    for group in selection_of(told).groups:
        human.rank(user, Ranking(group=group, places=[[index] for index in range(8)]))
    results = ann.get("/lab/results/", {"run": told.pk, "groups": 5}).content.decode()
    assert "rule-based, offline" in results and "n 5" in results and "5 of 5 ranked" not in results
    assert re.search(r"lab-tone-(p\d|n\d|0)", results) and "it takes at least five" not in results
    assert "answered before" in ann.get("/lab/estimate/", form).content.decode()
    assert "5 of 5 ranked" in ann.get("/lab/", {"run": told.pk, "groups": 5}).content.decode()


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"judge": ""}, "Choose at least one judge."),
        ({"rubric": "0"}, "Choose at least one rubric."),
        ({"other": "nowhere:model"}, "nowhere"),
        ({"other": "x" * 300}, "at most 200 characters"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(
    ann: Client, told: Run, form: dict[str, str], sentence: str
) -> None:
    whole = {"run": told.pk, "groups": "5", "judge": offline.MODEL, "rubric": sha256_of("")} | form
    assert sentence in ann.get("/lab/estimate/", whole).content.decode()
    assert sentence in ann.post("/lab/ask/", whole, follow=True).content.decode()
    assert not Errand.objects.exists()


def test_a_rubric_shows_what_it_would_change_before_it_is_kept(
    ann: Client, user: User, told: Run, judge: scripted.Provider
) -> None:
    judge.script = lambda body: by_place(body, late="Reward the last" in body["messages"][0]["content"])
    form = {"run": told.pk, "groups": "5", "judge": "openai/scripted", "cap": "", "draft": "Reward the last."}
    refused = ann.post("/lab/rubric/try/", form | {"draft": ""}, follow=True).content.decode()
    assert "That is the present rubric." in refused
    there = ann.post("/lab/rubric/try/", form).headers["Location"].split("#")[0]
    do(Errand.objects.get(kind="judge_lab"))
    page = ann.get(there).content.decode()
    assert "What your edit would change" in page and "passes" in page and "Reward the last." in page
    assert '<option value="openai/scripted" selected' in page  # though nobody offers it
    assert not RubricVersion.objects.exists()
    kept = ann.post("/lab/rubric/keep/", form, follow=True).content.decode()
    told.agent.refresh_from_db()
    assert told.agent.rubric == "Reward the last." and RubricVersion.objects.get().number == 1
    assert "The rubric was replaced." in kept and "Undo" in kept
    ann.post("/lab/rubric/keep/", form | {"draft": DEFAULT})
    told.agent.refresh_from_db()
    assert told.agent.rubric == "" and RubricVersion.objects.count() == 1


def test_the_default_rubric_is_shown_unwrapped_and_sent_back_so_is_still_the_default(
    ann: Client, told: Run
) -> None:
    page = unescape(ann.get(f"/lab/rubric/?run={told.pk}").content.decode())
    assert page.count(unwrapped(DEFAULT)) == 2
    ann.post("/lab/rubric/keep/", {"run": told.pk, "draft": unwrapped(DEFAULT)})
    told.agent.refresh_from_db()
    assert told.agent.rubric == ""


def test_peoples_scores_are_listed_with_what_came_of_them(ann: Client, user: User, group: Group) -> None:
    address = f"/runs/{group.run_id}/scores/"
    assert "Nobody has scored" in ann.get(address).content.decode()
    trajectory = group.trajectories.all()[0]
    human.score(trajectory, value=0.1, reason="First <b>thought</b>.", author=user, use="reward")
    given = human.score(trajectory, value=0.9, reason="It is right.", author=user, use="reward")
    page = ann.get(address).content.decode()
    assert (
        "First &lt;b&gt;thought" in page and "a newer one counts" in page and "not learned from yet" in page
    )
    given.learned_step = 3
    given.save()
    assert "learned in step 3" in ann.get(address).content.decode()
    ann.post(f"/scores/{given.pk}/withdraw/", {"next": address})
    assert "taken back" in ann.get(address).content.decode()


def test_nobody_else_sees_the_lab_of_a_run(told: Run, group: Group, other_user: User) -> None:
    bob = Client()
    bob.force_login(other_user)
    query = f"?run={told.pk}"
    for address in (
        f"/lab/{query}", f"/lab/results/{query}", f"/lab/estimate/{query}", f"/lab/rubric/{query}",
        f"/lab/rubric/change/{query}", f"/groups/{group.pk}/lab/", f"/groups/{group.pk}/lab/verdicts/",
        f"/runs/{told.pk}/scores/",
    ):  # fmt: skip
        assert bob.get(address).status_code == 404, address
        assert Client().get(address).status_code == 302, address
    for address in ("/lab/ask/", "/lab/rubric/try/", "/lab/rubric/keep/"):
        assert bob.post(address, {"run": told.pk}).status_code == 404, address
    assert "There are no tries to judge yet" in bob.get("/lab/").content.decode()


def test_nothing_gives_a_ranking_away_before_it_is_made(ann: Client, group: Group) -> None:
    page = ann.get(f"/groups/{group.pk}/lab/").content.decode()
    assert (
        "Looked the order up once" not in page and "succeeded" not in page and "Rank the tries first" in page
    )
    verdicts = ann.get(f"/groups/{group.pk}/lab/verdicts/").content.decode()
    assert "Looked the order up once" in verdicts and "place 1" in verdicts


def test_what_a_hostile_run_says_is_text_on_every_page_of_the_lab(
    ann: Client, user: User, make_run: MakeRun
) -> None:
    evil = '<img src=x onerror="alert(1)"></script>{{ 7|add:7 }}'
    run = make_run("hostile")
    stories.tell(run, iter([stories.saying(evil)]))
    group = Group.objects.get(run=run)
    Group.objects.update(tied=False)
    human.rank(user, Ranking(group=group, places=[[0], [1]], reason=evil))
    human.score(group.trajectories.all()[0], value=1, reason=evil, author=user, use="reward")
    run.agent.rubric = evil
    run.agent.save()
    for address in (
        f"/lab/?run={run.pk}", f"/groups/{group.pk}/lab/", f"/groups/{group.pk}/lab/verdicts/",
        f"/lab/rubric/?run={run.pk}", f"/runs/{run.pk}/scores/",
    ):  # fmt: skip
        page = ann.get(address).content.decode()
        assert (
            "<img src=x" not in page
            and "</script>{{" not in page
            and " 14" not in page.split("onerror")[0][-1:]
        )


def test_what_is_foretold_knows_what_was_answered_before(user: User, told: Run) -> None:
    hearing = Hearing(selection_of(told).ids, [offline.MODEL, "gpt-4o-mini"], [""], flips=False, repeats=0)
    first = foretold(hearing, user)
    assert (
        (first.questions, first.known) == (10, 0)
        and first.dollars
        and first.dollars[1] > first.dollars[0] > 0
    )
    hear(user, selection_of(told).groups[:1], offline.MODEL)
    assert foretold(hearing, user).known == 1
    assert foretold(Hearing(hearing.groups, ["no/such-model"], [""]), user).unknown == "no/such-model"


def by_days(body: dict[str, Any]) -> str:
    """A judge to whom an earlier day of arrival is worth more."""
    days = {
        i: int(re.findall(r"\d+", text.splitlines()[-1])[-1]) for i, text in scripted.frames(body).items()
    }
    scores = [
        {"trajectory_id": i, "explanation": f"day {day}", "score": 1 - day / 20} for i, day in days.items()
    ]
    return json.dumps({"scores": scores})


def test_a_group_of_sixteen_is_judged_in_two_panels_on_one_scale(
    ann: Client, make_run: MakeRun, judge: scripted.Provider
) -> None:
    judge.script = by_days
    run = stories.tell(make_run("sixteen"), iter([stories.wide(16, 3)]), end=Run.State.DONE)
    form = {"run": run.pk, "judge": "", "other": "openai/scripted", "rubric": sha256_of(""), "flips": "on"}
    ann.post("/lab/ask/", form)
    done = do(Errand.objects.get(kind="judge_lab"))
    assert (done.state, done.result["asked"], done.result["failed"], len(judge.asked)) == ("done", 2, 0, 4)
    trial, flipped = JudgeTrial.objects.order_by("-order")
    one, other = (set(panel) for panel in trial.positions)
    assert len(one) == len(other) == 9 and len(one & other) == 2 and one | other == set(range(16))
    assert flipped.positions == [panel[::-1] for panel in trial.positions]
    scores = [trial.scores[str(index)][0] for index in range(16)]
    assert scores == pytest.approx([1 - (index + 1) / 20 for index in range(16)])
    page = ann.get("/lab/", {"run": run.pk}).content.decode()
    assert (
        page.count("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16") == 2
    )  # the run's judge and this
    assert "openai/scripted" in page and "τ +1.00" in page
    verdicts = ann.get(f"/groups/{trial.group_id}/lab/verdicts/").content.decode()
    assert "place 16" in verdicts and "day 16" in verdicts


def test_more_groups_are_no_more_queries_and_long_texts_stay_where_they_are(
    ann: Client, user: User, make_run: MakeRun
) -> None:
    run = stories.tell(make_run(steps=9), stories.training(9, 4, 2), end=Run.State.DONE)
    hear(user, selection_of(run, 30).groups, offline.MODEL, flips=True)

    def queries(groups: int) -> list[str]:
        with CaptureQueriesContext(connection) as found:
            assert ann.get("/lab/", {"run": run.pk, "groups": groups}).status_code == 200
        return [query["sql"] for query in found]

    queries(1)  # the first also begins the session
    few, many = queries(5), queries(30)
    assert len(few) == len(many) <= 24
    long = ('"training_judgetrial"."rubric",', "explanation", "messages", "segments", '"tools"')
    assert [sql for sql in many for name in long if name in sql] == []


def test_the_main_navigation_says_where_a_page_of_the_lab_belongs(ann: Client, group: Group) -> None:
    for address, title in (
        (f"/groups/{group.pk}/lab/", "Judge lab"),
        (f"/groups/{group.pk}/", "Runs"),
        (f"/lab/rubric/?run={group.run_id}", "Judge lab"),
    ):
        page = ann.get(address).content.decode()
        sections = page[page.index("<header") : page.index("</header>")]
        assert re.findall(r'aria-current="page"[^>]*>\s*([^<]*)<', sections) == [title], address


def test_two_rubrics_of_a_judge_with_a_long_name_are_told_apart(ann: Client, user: User, told: Run) -> None:
    judge = "anthropic/claude-sonnet-4-5-20250929"
    group = selection_of(told).groups[0]
    for rubric in ("", "Be strict."):
        JudgeTrial.objects.create(
            owner=user, group=group, judge_model=judge, rubric=rubric, rubric_sha256=sha256_of(rubric),
            order="seeded", positions=[[0, 1]], scores={"0": [0.9, ""], "1": [0.1, ""]},
        )  # fmt: skip
    page = ann.get("/lab/", {"run": told.pk, "groups": 5}).content.decode()
    heat = page[page.index('<table class="lab-heat">') :]
    heads = heat[: heat.index("</thead>")]
    assert heads.count(judge) == 2 and "default rubric" in heads and "a draft (" in heads
    assert page.count(">claude-sonnet-4-5-2…<") == 2


def test_a_run_without_groups_to_compare_can_be_looked_at(ann: Client, told: Run, make_run: MakeRun) -> None:
    bare = make_run("bare")
    page = ann.get("/lab/", {"run": bare.pk}).content.decode()
    assert f'<option value="{bare.pk}" selected>bare' in page and "This run has no group yet" in page
    rubric = ann.get("/lab/rubric/", {"run": bare.pk}).content.decode()
    assert "This run has no group yet" in rubric and "0 real groups" not in rubric
    assert f'<option value="{told.pk}" selected>' in ann.get("/lab/", {"run": "x"}).content.decode()


@pytest.mark.parametrize(("alone", "parts"), [(False, "12345"), (True, "1234")])
def test_the_parts_are_counted_without_a_gap(ann: Client, told: Run, alone: bool, parts: str) -> None:
    if alone:  # nobody to be compared with
        Score.objects.filter(trajectory__run=told).exclude(source="checks").delete()
    page = ann.get("/lab/", {"run": told.pk}).content.decode()
    assert "".join(re.findall(r">(\d) · ", page)) == parts


def test_a_card_cuts_what_a_call_was_given(ann: Client, make_run: MakeRun) -> None:
    told = stories.saying("x" * 500)
    run = stories.tell(make_run("long"), iter([told]), end=Run.State.DONE)
    page = ann.get(f"/groups/{Group.objects.get(run=run).pk}/lab/").content.decode()
    assert f"<code>{'x' * 79}…</code>" in page and f"<code>{'x' * 299}…</code>" in page
