"""Sentences of the engine room are recognized wherever they come from, and said in the reader's language."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import Client
from django.utils.translation import override

from gpu_worker import algorithms
from gpu_worker.engines.embedded.directory import ModelError, locate
from gpu_worker.tools.guard import Guard, NotAllowed, address_of
from gpu_worker.tools.python.lint import lint
from gpu_worker.tools.tables import TableError
from gpu_worker.tools.tables.reading import read
from gpu_worker.types import AUTHORED, Job, Scenario, Score, Trajectory
from judging import offline, refusals
from judging.access import Access
from judging.checks import check
from judging.mix import complaint, with_mix
from tests.judging.tries import EXPECT, good, group, lookup, trajectory
from training import phrasebook
from training.authoring.office import errands, tasks
from training.authoring.toolbox.schema_check import BadJSON
from training.authoring.toolbox.schema_check import read as read_json
from training.models import Agent, Event, Provider, Run, TableFile, Tool
from training.phrasebook import reasons, said
from training.runs import budget, words

REFUSED = {
    "empty.csv": "",
    "header.csv": "a,b\n",
    "wide.csv": "a,b\n1,2,3\n4,5,6\n",
    "long.csv": "a,b\n1," + "x" * 10_001 + "\n",
    "columns.csv": ",".join(f"c{at}" for at in range(201)) + "\n1\n",
    "no.xyz": "a\n",
    "no.xlsx": "a\n",
    "no.parquet": "a\n",
    "list.jsonl": "[1]\n",
    "broken.jsonl": '{"a": 1}\n{"a": }\n',
    "nan.jsonl": '{"a": NaN}\n',
    "zero.csv": "a\x00b\n",
}
REMARKED = {
    "short.csv": "name,price\nTea\n" + "Milk,2\n" * 40,
    "wide.csv": "name,price\n" + "Milk,2\n" * 40 + "Tea,1,7\n",
    "twice.csv": "name,name\nTea,1\n",
    "unnamed.csv": "name,,price\nTea,x,1\n",
    "cut.csv": f"{'n' * 120},price\nTea,1\n",
    "quotes.csv": 'name,price\n"Tea,1\nMilk,2\n',
    "types.csv": "name,price\n" + "Milk,2\n" * 100 + "Tea,dear\n",
    "many.csv": "name,price\n" + "Tea\n" * 50,
    "twice.jsonl": '{"a": 1, "a": 2}\n',
    "lacks.jsonl": '{"a": 1, "b": 2}\n{"a": 1}\n',
}
CODE = (
    "",
    "def a(): pass\ndef b(): pass\n",
    "async def a(): pass\n",
    "def a(x): pass\n",
    "def a(x: set): pass\n",
    "def a(*x): pass\n",
    "def a(x: str) -> str:\n    return x\n",
    "def a(x: str):\n    'Say.'\n    yield x\n",
    "def a(x: str) -> str:\nreturn x\n",
    "def a(x: str -> str:\n    return x\n",
    "def a(x: str) -> str\n    return x\n",
    *(
        f'def a(x: int, y: str) -> str:\n    """Say."""\n    {line}\n'
        for line in (
            "return y + nothing",
            "return y + x",
            "return -y",
            "return x",
            "pass",
            "return x.name",
            "y: int = 'a'; return y",
            "return y(3)",
            "return [each for each in x]",
            "return x[0]",
            "import numpy; return y",
            "import math; return math.nothing(x)",
            "return y * len(x)",
            "return y.encode(3)",
            "return a(x, y, z=1)",
            "return a(x)",
            "return a()",
            "return a(x, y, 3)",
            "return y.join(3)",
        )
    ),
    'def a(x: int = None) -> str:\n    """Say."""\n    return "a"\n',
    'def a(x: int) -> str:\n    """Say."""\n    if x:\n        return "a"\n',
)
JOBS = (
    {"loss": "nothing"},
    {"clip_low": 2.0},
    {"kl_in": "advantage"},
    {"importance": "mask", "importance_cap": 0.5},
    {"lora_rank": -1},
)
SHAPED = {"place": "Row 7:", "after": "after 7 look-ups", "ended": "cut off"}
"""An example of each value that has a shape of its own and is no number."""


@pytest.fixture(autouse=True)
def tongue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language in which everything that is known is said in guillemets."""
    monkeypatch.setattr(phrasebook, "_", lambda template: f"«{template}»")
    with override("zh-hans"):
        yield


def table_sentences(tmp_path: Path, name: str, content: str) -> tuple[str, ...]:
    file = tmp_path / name
    file.write_text(content)
    try:
        return read(file, name).problems
    except TableError as refused:
        return (str(refused),)


@pytest.mark.parametrize("template", phrasebook.templates())
def test_every_sentence_is_known_again_with_its_values(template: str) -> None:
    values = phrasebook._VALUE.findall(template)
    english = template % {name: SHAPED.get(name, "7") for name in values}
    found = phrasebook._recognized(english)
    assert found is not None
    assert found[0] % found[1] == english


@pytest.mark.parametrize(("name", "content"), [*REFUSED.items(), *REMARKED.items()])
def test_remarks_and_refusals_of_tables_are_known(tmp_path: Path, name: str, content: str) -> None:
    sentences = table_sentences(tmp_path, name, content)
    assert sentences
    assert [sentence for sentence in sentences if not said(sentence).startswith("«")] == []


@pytest.mark.parametrize("code", CODE)
def test_what_is_wrong_with_code_is_known(code: str) -> None:
    assert [problem.text for problem in lint(code) if not said(problem.text).startswith("«")] == []
    assert lint(code)


@pytest.mark.parametrize("knobs", JOBS)
def test_what_is_wrong_with_an_algorithm_is_known(knobs: dict[str, object]) -> None:
    refused = algorithms.refusal(Job(run="", environment="", **knobs))  # type: ignore[arg-type]
    assert refused and said(refused).startswith("«")


@pytest.mark.parametrize("missing", ["/no/such/model", "/etc/passwd"])
def test_why_a_model_cannot_be_used_is_known(missing: str) -> None:
    with pytest.raises(ModelError) as refused:
        locate(missing)
    assert missing in said(str(refused.value))
    assert said(str(refused.value)).startswith("«")


def test_every_refusal_of_a_provider_is_known_with_what_the_provider_said() -> None:
    access = Access("openai/gpt", "http://here:1/v1")
    for status in (400, 401, 402, 403, 404, 408, 429, 500):
        error = refusals.Hung(30)
        error.status_code = status
        sentence = refusals.sentence(error, access)
        assert said(sentence).startswith("«openai/gpt "), sentence
        assert said(sentence).endswith("no answer within 30 seconds»")
    assert "found« at http://here:1/v1». Check" in said(
        "openai/gpt was not found at http://here:1/v1. Check how the model is written, and that the "
        "address ends as the provider says (often /v1). It said: nothing"
    )


@pytest.mark.parametrize("address", ["ftp://a", "http://a:99", "http://127.0.0.1/", "http://a b/"])
def test_what_the_guard_refuses_is_known(address: str) -> None:
    with pytest.raises(NotAllowed) as refused:
        Guard().check(address_of(address))
    assert said(str(refused.value)).startswith("«")


@pytest.mark.django_db
def test_a_run_without_money_says_so_with_the_figures(run: Run) -> None:
    spent = "The budget of $1.00 is used up: $0.9000 are spent, $0.1000 are reserved for answers that "
    with override("en"):
        why = budget.reason(run, f"{spent}are not there yet, and the next answer may cost $0.2000.")
    assert said(why).startswith(f"««{spent}")


def test_weights_that_cannot_be_mixed_are_known() -> None:
    assert said(complaint({"ruler": -1.0})) == (
        "«The weight of ruler is -1.0; it must be a number from 0 up.»"
    )


WANTING = trajectory(*lookup("9", "Error: nothing"), *lookup("9", "none"), "It is delivered.")
TRIES = (
    good(),
    good("It is shipped, delivered even."),
    WANTING,
    trajectory("Let me", ended="cut_off"),
    trajectory(*lookup("9", "none"), ended="too_many_turns"),
)


def unsaid(text: str) -> list[str]:
    """The pieces of a text that are not said in the reader's language."""
    return [piece for piece in reasons(text).split("«; »") if not piece.startswith("«")]


@pytest.mark.parametrize("one", TRIES)
def test_every_piece_of_a_reason_is_known(one: Trajectory) -> None:
    found = check(Scenario("s1", "train", (), expect=EXPECT), one)
    assert found is not None and unsaid(found.explanation) == []
    scored = group(replace(one, scores=(found,)), replace(good(), scores=(Score("checks", 1.0),)))
    mixed = with_mix(scored, {"checks": 1, "length": 0.1, "format": 0.1}).trajectories[0]
    assert [unsaid(score.explanation) for score in mixed.scores if score.source != "mix"] == [[]] * 3
    for right in (None, 0.5, 1.0):
        rule = offline.Try("1", one.ended, 2, len(one.messages), 1, right, found.explanation)
        assert unsaid(offline.explanation(rule)) == []


def test_what_was_joined_is_joined_again_in_the_readers_language() -> None:
    assert reasons(
        "Answered after one look-up, but 2 of 4 checks failed: the answer does not say “Tea” or “four”; "
        "and 2 more; one failed call."
    ) == (
        "«Answered «after one look-up», but «2 of 4 checks failed: «the answer does not say "
        "«“Tea” or “four”»»»»«; »«and 2 more»«; »«one failed call»«.»"
    )


@pytest.mark.parametrize(
    "text",
    [
        "the answer must not say “one; two”; no calls",
        "no tool result shows “a; no calls”; no calls",
        "It asked for the order; then it answered.",
        "all of the checks passed",
        "Answered the question with care.",
    ],
)
def test_reasons_with_a_torn_value_and_those_of_a_judge_stay_as_they_are(text: str) -> None:
    assert reasons(text) == text


def test_a_value_that_looks_like_a_reason_stays_a_value() -> None:
    page = Template("{% load phrasebook %}{{ why|reasons }}")
    told = page.render(Context({"why": "no tool result shows “<i>no calls%(x)s</i>”; no calls"}))
    assert told == "«no tool result shows “&lt;i&gt;no calls%(x)s&lt;/i&gt;”»«; »«no calls»"


def test_who_reads_english_reads_reasons_as_they_were_made() -> None:
    with override("en"):
        assert reasons("there is no answer; no calls.") == "there is no answer; no calls."


def test_a_run_that_lost_its_judge_says_so_with_the_figures() -> None:
    lost = "Step 3: 5 of 8 groups had no usable judgement, more than 50% of them. "
    learned = "Nothing was learned from this step. "
    told = said(f"{lost}{learned}Look at the judge, then press Resume: the step is played again.")
    assert told.startswith("««Step 3: 5 of 8 groups")


@pytest.mark.django_db
def test_the_log_says_warnings_and_why_a_group_was_dropped(run: Run) -> None:
    unread = "The judge's answer could not be used: there was no JSON in it."
    dropped = Event(
        run=run, kind="dropped", payload={"step": 1, "index": 0, "scenario": "s", "reason": unread}
    )
    assert "«The judge's answer could not be used:" in words.line(dropped, {}).text
    skipped = "Step 2: an update was left out, its loss or gradient was not a finite number."
    told = words.line(Event(run=run, kind="log", payload={"level": "warning", "text": skipped}), {})
    assert f">«{skipped}»<" in render_to_string("runs/_line.html", {"line": told})


@pytest.mark.parametrize(
    "note",
    [
        "no answer after 3 turns",
        "a turn reached its 64 tokens",
        "there is no tool 'guess'",
        "9 tool calls in one turn; 8 at most",
        "the try used all of its 512 tokens",
    ],
)
def test_why_a_try_ended_is_known(note: str) -> None:
    assert said(note) == f"«{note}»"


def test_the_place_of_a_remark_is_said_too_and_names_of_columns_are_left() -> None:
    remark = "Row 1,204, column “titles: “a” is”: “short rows” is not a whole number like the column's other"
    assert said(f"{remark} cells; it stays.") == (
        "««Row 1,204, column “titles: “a” is”:» “short rows” is not a «whole number» like the column's "
        "other cells; it stays.»"
    )
    assert said("And 30 more short rows.") == "«And 30 more «short rows».»"


def test_who_reads_english_reads_what_was_made() -> None:
    with override("en"):
        assert said("The file has more than 200,000 rows. Keep the rows the agent needs.").startswith("The")


def test_words_of_others_stay_as_they_are() -> None:
    assert said("connection reset by peer") == "connection reset by peer"
    assert said("") == ""
    assert said("Row 3: " * 400) == "Row 3: " * 400


def test_json_is_refused_in_words_that_are_known() -> None:
    with pytest.raises(BadJSON, match="«Expecting value»"):
        read_json("[1, ")


@pytest.mark.django_db
def test_pages_say_remarks_lint_what_a_test_heard_and_why_a_run_failed(
    client: Client, user: User, make_run: Callable[..., Run]
) -> None:
    client.force_login(user)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-hans"
    agent = Agent.objects.create(owner=user, name="Shop", environment=AUTHORED)
    remark = "Row 1, column 2: the column has no name; it is called “column 2”."
    table = TableFile.objects.create(
        agent=agent, name="goods", filename="goods.csv", bytes=1, rows=1, columns=[], problems=[remark]
    )
    code = "def price(item):\n    return item\n"
    tool = Tool.objects.create(
        agent=agent, name="price", position=0, kind=Tool.Kind.PYTHON, settings={"code": code}, parameters={}
    )
    heard = {"model": "m", "ok": False, "kind": "silent", "quote": "no answer within 30 seconds"}
    Provider.objects.create(
        owner=user, name="own", kind=Provider.Kind.URL, api_base="http://a/v1", test=heard
    )
    run = make_run(
        state=Run.State.FAILED, error="The judge's answer could not be used: there was no JSON in it."
    )
    said_on = {
        f"/tables/{table.pk}/": f"<li>«{remark}»</li>",
        f"/tools/{tool.pk}/": "«say what item is, such as item: str»",
        "/providers/": "«no answer within 30 seconds»",
        f"/runs/{run.pk}/": "«The judge&#x27;s answer could not be used: «there was no JSON in it».»",
        "/": "«The judge&#x27;s answer could not be used: «there was no JSON in it».»",
    }
    assert [page for page, words in said_on.items() if words not in client.get(page).content.decode()] == []


@pytest.mark.django_db
def test_an_errand_says_why_it_failed_in_the_readers_language(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)

    def work(doing: errands.Doing) -> dict[str, object]:
        raise errands.Failed("There is a header but no row below it.")

    errand = errands.start(owner=user, kind="read_table")
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.carry_out(taken, work)
    errand.refresh_from_db()
    assert errand.error == "«There is a header but no row below it.»"


def test_a_template_escapes_values_as_before() -> None:
    page = Template("{% load phrasebook %}{{ sentence|said }}")
    told = page.render(Context({"sentence": "There is no column “<b>” to give a type to."}))
    assert told == "«There is no column “&lt;b&gt;” to give a type to.»"
