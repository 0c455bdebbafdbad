"""Answers on disk: paid once, found again by any process, never in the way when broken."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from gpu_worker.types import JudgeFailed
from judging.kept import LONGEST, SWEEP_EVERY, Entry, Kept, key_of
from judging.llm import Model, NoAnswer
from judging.prompt import SCHEMA
from judging.spending import Purse
from tests.judging.provider import Provider, provider, refusal

QUESTION = [{"role": "user", "content": "Who is best?"}]
SECRET = "sk-not-to-be-found-on-disk"
FINE = Entry("fine", 3, 4)


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def model(there: Provider, kept: Path, **options: object) -> Model:
    return Model(there.access(), kept=kept, purse=Purse(), back_off=0.001, attempts=2, **options)  # type: ignore[arg-type]


async def test_the_same_question_is_paid_once_even_by_a_later_process(tmp_path: Path) -> None:
    async with provider() as there:
        there.script = lambda body: f"answer {len(there.asked)}"
        first = await model(there, tmp_path).ask(QUESTION, SCHEMA)
        again = await model(there, tmp_path).ask(QUESTION, SCHEMA)
        assert len(there.asked) == 1
    assert (first.text, first.cached) == ("answer 1", False)
    assert (again.text, again.cached, again.cost) == ("answer 1", True, 0.0)
    assert (again.prompt_tokens, again.answer_tokens) == (first.prompt_tokens, first.answer_tokens)


async def test_what_decides_the_answer_decides_the_entry(tmp_path: Path) -> None:
    async with provider() as there:
        there.script = lambda body: "fine"
        asked = model(there, tmp_path)
        await asked.ask(QUESTION, SCHEMA)
        await asked.ask(QUESTION * 2, SCHEMA)
        await asked.ask(QUESTION, {"type": "object"})
        await asked.ask(QUESTION, SCHEMA, temperature=0.5)
        await model(there, tmp_path, options={"seed": 7}).ask(QUESTION, SCHEMA)
        assert len(there.asked) == 5
    keys = {key_of(name, base, QUESTION, SCHEMA, 0) for name in ("a", "b") for base in ("", "http://x")}
    assert len(keys) == 4 and all(len(key) == 64 for key in keys)


async def test_neither_key_nor_question_is_on_disk_and_only_its_owner_may_read(tmp_path: Path) -> None:
    async with provider() as there:
        there.script = lambda body: "fine"
        access = there.access(title="t")
        keyed = type(access)(access.model, access.api_base, SECRET)
        await Model(keyed, kept=tmp_path / "answers").ask(QUESTION, SCHEMA)
    (path,) = files(tmp_path)
    assert SECRET not in path.read_text() and "Who is best" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"fine", b"evil"),
        lambda content: b"\xff\xfe" + content,
        lambda content: b"[]",
        lambda content: b"0" * 64 + b"\n{}",
    ],
)
def test_a_broken_entry_is_as_none(tmp_path: Path, spoil: object) -> None:
    kept = Kept(tmp_path)
    kept.put("ab" * 32, FINE)
    (path,) = files(tmp_path)
    path.write_bytes(spoil(path.read_bytes()))  # type: ignore[operator]
    assert kept.get("ab" * 32) is None
    kept.put("ab" * 32, FINE)
    assert kept.get("ab" * 32) == FINE


def test_the_directory_stays_within_its_limit_and_loses_what_was_not_used(tmp_path: Path) -> None:
    kept = Kept(tmp_path, most_bytes=20_000)
    for number in range(SWEEP_EVERY):
        key = f"{number:064x}"
        kept.put(key, Entry("x" * 300, 1, 1))
        os.utime(kept._path(key), (number, number))
        if number == SWEEP_EVERY - 2:
            assert kept.get(f"{0:064x}") is not None  # read: young again
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 20_000
    assert kept.get(f"{0:064x}") is not None
    assert kept.get(f"{1:064x}") is None


def test_an_answer_too_long_is_not_kept(tmp_path: Path) -> None:
    Kept(tmp_path).put("ab" * 32, Entry("x" * (LONGEST + 1), 1, 1))
    assert files(tmp_path) == []


def test_a_directory_that_cannot_be_written_costs_money_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file")
    kept.put("ab" * 32, FINE)
    assert kept.get("ab" * 32) is None


def test_processes_write_the_same_entries_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_all, args=(tmp_path,)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert all(Kept(tmp_path).get(f"{number:064x}") == FINE for number in range(50))
    assert len(files(tmp_path)) == 50


def _write_all(directory: Path) -> None:
    kept = Kept(directory)
    for number in range(50):
        kept.put(f"{number:064x}", FINE)
        assert kept.get(f"{number:064x}") == FINE


async def test_answers_that_led_to_nothing_are_asked_afresh(tmp_path: Path) -> None:
    async with provider() as there:
        there.script = lambda body: "useless"
        asked = model(there, tmp_path)
        with pytest.raises(JudgeFailed), asked.sitting():
            await asked.ask(QUESTION, SCHEMA)
            await asked.ask(QUESTION * 2, SCHEMA)
            raise JudgeFailed("no use")
        assert files(tmp_path) == []
        await asked.ask(QUESTION, SCHEMA)
        assert len(there.asked) == 3


async def test_what_was_paid_before_the_provider_fell_silent_is_not_paid_again(tmp_path: Path) -> None:
    async with provider() as there:
        there.script = lambda body: "fine" if len(body["messages"]) == 1 else refusal(500, "broken")
        asked = model(there, tmp_path)
        with pytest.raises(JudgeFailed), asked.sitting():
            await asked.ask(QUESTION, SCHEMA)
            try:
                await asked.ask(QUESTION * 2, SCHEMA)
            except NoAnswer as silent:
                raise JudgeFailed(str(silent)) from silent
        assert (await asked.ask(QUESTION, SCHEMA)).cached


async def test_an_empty_answer_is_not_kept(tmp_path: Path) -> None:
    async with provider() as there:
        there.script = lambda body: ""
        await model(there, tmp_path).ask(QUESTION, SCHEMA)
    assert files(tmp_path) == []


def test_an_entry_says_nothing_but_the_answer(tmp_path: Path) -> None:
    Kept(tmp_path).put("ab" * 32, FINE)
    (path,) = files(tmp_path)
    told = json.loads(path.read_text().partition("\n")[2])
    assert told == {"text": "fine", "prompt_tokens": 3, "answer_tokens": 4}
