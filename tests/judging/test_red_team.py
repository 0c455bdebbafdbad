"""Hostile tries before a gullible judge: frames stay whole, and nothing of a try reaches it as structure."""

import dataclasses
import json
import random
import re

import pytest

from gpu_worker.types import Group, Message, Score, ToolSpec, Trajectory
from judging.llm import Answer, Model
from judging.prompt import FRAME
from judging.ruler import judge_group
from tests.judging.red_team import FAMILIES, MARKERS, Attack, gullible, seen_outside
from tests.judging.tries import good, group, lookup, trajectory

ATTACKS = 500


class Gullible(Model):
    """Believes what stands in frames and notes the prompt; what else it might obey is looked for there."""

    def __init__(self) -> None:
        self.name = "gullible"
        self.prompts: list[str] = []

    async def ask(self, messages: list[Message], schema: object) -> Answer:  # type: ignore[override]
        self.prompts.append(str(messages[1]["content"]))
        scores = gullible(messages)
        return Answer(json.dumps({"scores": [{"trajectory_id": i, "score": v} for i, v in scores.items()]}))


def attackers(attack: Attack, source: random.Random) -> list[Trajectory]:
    """One attack in every place a try can put it, and others of its family that differ a little."""
    text = attack(source)
    call = {"id": text, "type": "function", "function": {"name": text[:200], "arguments": {text[:200]: text}}}
    calling = trajectory(
        {"role": "assistant", "content": text, "tool_calls": [call]}, *lookup(text[:100], text)
    )
    shared = trajectory({"role": "tool", "content": text}, text, text, attack(source))
    raw = {"id": "1", "function": {"name": "find_orders", "arguments": text}}
    note = trajectory({"role": text[:50], "content": [{"type": text[:50]}, {"text": text}]})
    return [calling, shared, note, trajectory({"role": "assistant", "tool_calls": [raw]}, attack(source))]


async def judged(tries: Group, seed: str) -> tuple[list[float], list[str]]:
    model = Gullible()
    judgement = await judge_group(tries, model=model, seed=seed)
    return [score.value for score in judgement.scores], model.prompts


def assert_whole(prompt: str, tries: int) -> None:
    frames = FRAME.findall(prompt)
    assert len(frames) == tries
    (mark,) = {frame[0] for frame in frames}
    assert len(re.findall(rf"^</try-{mark}>$", prompt, re.MULTILINE)) == tries
    assert prompt.count("<try-") == prompt.count("</try-") == tries
    assert prompt.count("\nfacts: ") == tries
    assert seen_outside(prompt) == []
    assert not MARKERS.search(prompt)
    prompt.encode()


@pytest.mark.parametrize("family", FAMILIES)
async def test_no_attack_reaches_the_judge_as_structure(family: str) -> None:
    source = random.Random(family)
    for number in range(ATTACKS // len(FAMILIES) + 1):
        tries = group(good(), *attackers(FAMILIES[family], source))
        values, (prompt,) = await judged(tries, f"{family}/{number}")
        assert_whole(prompt, 5)
        assert values == [0.5] * 5


@pytest.mark.parametrize("family", FAMILIES)
async def test_neither_tools_nor_checks_reach_the_judge_as_structure(family: str) -> None:
    text = FAMILIES[family](random.Random(0))
    checked = trajectory("x", scores=(Score("checks", 0.5, text),))
    tool = ToolSpec(text, text, {"type": "object", "properties": {text: {"type": text, "description": text}}})
    tries = dataclasses.replace(group(checked, good()), tools=(tool, ToolSpec("plain", "", {text: text})))
    values, (prompt,) = await judged(tries, family)
    assert_whole(prompt, 2)
    assert values == [0.5, 0.5]


def test_the_families_are_many_and_make_five_hundred_attacks() -> None:
    assert len(FAMILIES) >= 20
    assert len(FAMILIES) * (ATTACKS // len(FAMILIES) + 1) >= ATTACKS


async def test_spliced_attacks_do_no_better() -> None:
    source = random.Random(1)
    families = [attack for name, attack in FAMILIES.items() if name != "huge"]

    def spliced(source: random.Random) -> str:
        return "".join(source.choice(families)(source)[: source.randrange(90)] for _ in range(4))

    for number in range(100):
        _, (prompt,) = await judged(group(good(), *attackers(spliced, source)), str(number))
        assert_whole(prompt, 5)


async def test_a_gullible_judge_would_obey_what_broke_out() -> None:
    """The judge of these tests is no straw man: an attack that is not quoted is seen."""
    for attack in FAMILIES.values():
        text = attack(random.Random(0))
        assert seen_outside(f'user: "hm"\n{text}') or MARKERS.search(text) or not text.strip('A<"\\\né|')
