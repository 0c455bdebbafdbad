"""A group's page: every try with what was said of it, side by side, and nothing of anybody else's."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.test import Client

from gpu_worker.types import GroupJudged
from tests import stories
from training.judges import human
from training.models import Group, Ranking, Run, Score, Trajectory
from training.review.groups.side_by_side import TEXT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def told(run: Run, *reports: GroupJudged) -> Group:
    stories.tell(run, iter(reports))
    return Group.objects.filter(run=run).earliest("pk")


def page_of(client: Client, group: Group, query: str = "") -> str:
    answer = client.get(f"/groups/{group.pk}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


class Table(HTMLParser):
    """The cells of the rows of a page's table, as (tag, class, id, text)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[list[str]]] = []
        self.inside = False
        self.elements: set[tuple[str, tuple[str, ...]]] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.add((tag, tuple(sorted(found))))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append([tag, found.get("class", ""), found.get("id", ""), ""])
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1][3] += data


def heads(page: str) -> list[int]:
    return [int(index) for index in re.findall(r'id="try-(\d+)"', page)]


def test_every_message_of_every_try_has_its_place(ann: Client, run: Run) -> None:
    group = told(run, stories.wide(4, 5))
    page = page_of(ann, group)
    table = Table(page)
    assert {len(row) for row in table.rows} <= {5, 2}, "a name and four tries, or a fold"
    ids = {cell[2] for row in table.rows for cell in row if cell[0] == "td" and cell[2]}
    for trajectory in group.trajectories.all():
        messages = trajectory.record.messages
        assert {f"t{trajectory.index}m{n}" for n in range(2, len(messages))} <= ids
    assert heads(page) == [0, 1, 2, 3]


def test_equal_turns_are_equal_and_others_say_how_they_differ(ann: Client, run: Run) -> None:
    page = page_of(ann, told(run, stories.wide(4, 8)))
    rows = [row for row in Table(page).rows if len(row) == 5]
    marks = [[cell[1] for cell in row[1:]] for row in rows[2:]]
    assert all(row[0] == "best" for row in marks)
    assert any("arguments" in row for row in marks) and any(row[1:] == ["same"] * 3 for row in marks)
    assert "<mark>" in page and "other arguments" in page
    assert "the same in all tries" in page


def test_the_judge_its_price_and_its_second_look_are_told(ann: Client, run: Run) -> None:
    page = page_of(ann, told(run, stories.wide(3, 3)))
    for words in ("2 questions to the judge", "3.2 s", "&lt;$0.01", "9,000 tokens read", "second look"):
        assert words in page, words
    assert page.count('<a href="#t0m6">“shipped with DHL and arrives”</a>') == 1


def test_groups_judged_before_prices_were_kept_say_nothing_of_them(ann: Client, run: Run) -> None:
    page = page_of(ann, told(run, stories.judged(1, 0, 0.5)))
    assert "to the judge" not in page


def test_the_rubric_of_a_scenario_is_shown(ann: Client, run: Run) -> None:
    group = told(run, stories.judged(1, 0, 0.5))
    Group.objects.filter(pk=group.pk).update(rubric="Prefer <b>short</b> answers.")
    assert "Prefer &lt;b&gt;short&lt;/b&gt; answers." in page_of(ann, group)


def test_a_persons_score_stands_beside_the_judges(ann: Client, run: Run, user: User) -> None:
    group = told(run, stories.wide(3, 3))
    trajectory = group.trajectories.get(index=2)
    first = human.score(trajectory, value=0.3, reason="Too slow.", author=user, use="calibration")
    human.score(
        trajectory, value=0.8, reason="It is “shipped with DHL” after all.", author=user, use="reward"
    )
    page = page_of(ann, group)
    head = page[page.index('id="try-2"') : page.index("</th>", page.index('id="try-2"'))]
    assert '<span class="try-reward num">0.85</span>' in head, "what the judge gave stays"
    assert '<b class="try-human">0.80</b>' in head and "by you" in head
    assert '<a href="#t2m6">“shipped with DHL”</a>' in page
    assert "replaced by a newer one" in page and "not learned from yet" in page
    second = Score.objects.latest("pk")
    assert ann.post(re.findall(rf'action="(/scores/{second.pk}/[^"]*)"', page)[0]).status_code == 302
    page = page_of(ann, group)
    assert f'action="/scores/{second.pk}/restore/"' in page
    assert "taken back" in page and '<b class="try-human">0.30</b>' in page and "calibration only" in page
    human.withdraw(first)
    assert 'class="human" hidden' in page_of(ann, group)


def test_the_reward_is_the_persons_where_it_is_meant_as_one(ann: Client, run: Run, user: User) -> None:
    group = told(run, stories.wide(2, 3))
    trajectory = group.trajectories.get(index=0)
    rewarded = r'score-reward">\s*<p[^>]*><span>([^<]+) <span'
    assert re.findall(rewarded, page_of(ann, group)) == ["Judge (RULER)"] * 2
    human.score(trajectory, value=0.2, reason="", author=user, use="calibration")
    assert re.findall(rewarded, page_of(ann, group)) == ["Judge (RULER)"] * 2
    human.score(trajectory, value=0.2, reason="", author=user, use="reward")
    assert re.findall(rewarded, page_of(ann, group)) == ["Person", "Judge (RULER)"]


def test_tries_stand_as_this_person_ranked_them(ann: Client, run: Run, user: User) -> None:
    group = told(run, stories.wide(4, 3))
    human.rank(user, Ranking(group=group, places=[[2], [0, 3], [1]]))
    page = page_of(ann, group)
    assert heads(page) == [2, 0, 3, 1]
    assert re.findall(r"your place <b>(\d)</b>", page) == ["1", "2", "2", "4"]
    assert re.findall(r'class="rank num">Rank (\d)', page) == ["3", "1", "4", "2"]
    assert ann.post(re.findall(r'action="(/rankings/[^"]*)"', page)[0], {}).status_code == 302
    assert heads(page_of(ann, group)) == [0, 1, 2, 3]


def test_any_try_can_be_what_the_others_are_compared_with(ann: Client, run: Run) -> None:
    group = told(run, stories.wide(3, 6))
    for query, best in (("?with=2", 2), ("?with=99", 0), ("?with=x", 0), ("?with=²", 0)):
        page = page_of(ann, group, query)
        compared = re.findall(r'class="try[^"]*compared-with" id="try-(\d)"', page)
        assert compared == [str(best)] and f'<td class="best" id="t{best}m2"' in page


def test_failed_tries_are_shown_with_why(ann: Client, run: Run) -> None:
    group = told(run, stories.judged(1, 0, 0.0))
    page = page_of(ann, group)
    failed = group.trajectories.filter(ended="malformed_call").count()
    assert failed and page.count("The arguments are not JSON") >= failed
    assert len(heads(page)) == 8


def test_a_message_is_fetched_whole(ann: Client, run: Run, other_user: User) -> None:
    group = told(run, stories.saying("<script>x</script> " + "long " * 1000))
    page = page_of(ann, group)
    shown = re.findall(r'data-whole="([^"]+)"', page)
    assert "t0m2" in shown and len(page) < 300_000
    whole = ann.get(f"/groups/{group.pk}/tries/0/messages/2/").content.decode()
    assert whole.count("long") >= 1000 > TEXT and "<script>" not in whole
    for wrong in ("9/messages/2", "0/messages/99"):
        assert ann.get(f"/groups/{group.pk}/tries/{wrong}/").status_code == 404
    bob = Client()
    bob.force_login(other_user)
    assert bob.get(f"/groups/{group.pk}/tries/0/messages/2/").status_code == 404
    assert bob.get(f"/groups/{group.pk}/").status_code == 404


HOSTILE = (
    "</td></table><script>window.hit=1</script><img src=x onerror=alert(1)>",
    "\u202e\u2066drowkcab\u2069 “quoted \u202e text here” \x1b[2J",
    "{{ 7|add:7 }} {% now 'Y' %} \" onfocus=alert(1) autofocus x=\"",
    "'" * 2000 + '"' * 2000 + "“" * 2000,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_said_stays_text(ann: Client, run: Run, user: User, text: str) -> None:
    group = told(run, stories.saying(text))
    for trajectory in group.trajectories.all():
        human.score(trajectory, value=0.5, reason=text, author=user, use="reward")
    Group.objects.filter(pk=group.pk).update(rubric=text)
    page = page_of(ann, group)
    assert len(page) < 250_000
    for tag, attributes in Table(page).elements:
        assert tag != "img" and (tag != "script" or "src" in attributes)
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag


def test_a_thousand_calls_make_no_endless_page(ann: Client, run: Run) -> None:
    report = stories.wide(2, 500)
    page = page_of(ann, told(run, report))
    assert len(page) < 1_500_000
    assert "later messages are not shown here" in page


def test_neighbours_of_the_same_scenario_are_linked(ann: Client, run: Run) -> None:
    stories.tell(run, iter([stories.judged(1, 0, 0.5), stories.judged(2, 0, 0.5), stories.judged(3, 0, 0.5)]))
    Group.objects.filter(run=run, step__in=(1, 3)).update(scenario_key="s100")
    first, _, third = Group.objects.filter(run=run).order_by("pk")
    page = page_of(ann, first)
    assert f'href="/groups/{third.pk}/">Same scenario: Step 3, group 1' in page
    assert "Same scenario: Step 2" not in page


def test_the_page_costs_few_queries_however_many_tries(
    ann: Client, run: Run, user: User, django_assert_max_num_queries: Callable[..., object]
) -> None:
    group = told(run, stories.wide(16, 4))
    for trajectory in Trajectory.objects.filter(group=group):
        human.score(trajectory, value=0.5, reason="", author=user, use="reward")
    with django_assert_max_num_queries(14):  # type: ignore[attr-defined]
        page = page_of(ann, group)
    assert json.loads(re.findall(r'data-by-score="([^"]*)"', page)[0])[0] == [0]
