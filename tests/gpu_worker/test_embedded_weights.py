"""The weights in the repository: what their card says of them, and that they read schemas never seen."""

import asyncio
import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gpu_worker.engines.embedded.directory import EMBEDDED
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.engines.embedded.recipe import words
from gpu_worker.engines.embedded.recipe.dialogues import CAREFUL, Dialogue, write_dialogue
from gpu_worker.engines.embedded.recipe.inquiries import some_inquiry
from gpu_worker.tools.table import look_up_tool, parse_table
from gpu_worker.types import Sampling

CARD = EMBEDDED / "MODEL_CARD.md"
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")

TABLE = "whale_id,depth\n5512,88\n"
LISTED = {*words.THINGS, *words.PEOPLE, *map(words.plural, (*words.THINGS, *words.PEOPLE))}


def first_calls(count: int) -> list[tuple[Dialogue, dict[str, Any]]]:
    """Held-out dialogues up to the first look-up, with that call; no noun in its tool's name is listed."""
    rng = random.Random("names never seen")
    found: list[tuple[Dialogue, dict[str, Any]]] = []
    while len(found) < count:
        dialogue = write_dialogue(rng, CAREFUL)
        at = next((n for n, m in enumerate(dialogue.messages) if m.get("tool_calls")), None)
        if at is None:
            continue
        call = dialogue.messages[at]["tool_calls"][0]["function"]
        if not LISTED & set(call["name"].split("_")):
            found.append((Dialogue(dialogue.messages[:at], dialogue.tools), call))
    return found


@pytest.fixture(scope="module")
def engine() -> EmbeddedEngine:
    return EmbeddedEngine("embedded", slots=16)


def test_the_weights_are_those_of_the_card() -> None:
    digest = hashlib.sha256((EMBEDDED / "model.safetensors").read_bytes()).hexdigest()
    assert re.findall(r"[0-9a-f]{64}", CARD.read_text(encoding="utf-8")) == [digest]


def test_the_directory_is_small_and_whole() -> None:
    assert all((EMBEDDED / name).is_file() for name in FILES)
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 20_000_000


def test_the_template_beside_the_weights_is_the_recipes() -> None:
    recipe = Path(EMBEDDED).parent / "recipe" / "chat_template.jinja"
    assert (EMBEDDED / "chat_template.jinja").read_bytes() == recipe.read_bytes()


async def test_it_calls_tools_whose_names_it_never_saw(engine: EmbeddedEngine) -> None:
    """Greedy: tool, argument names and values all have to be read from the prompt."""
    asked = first_calls(40)
    greedy = Sampling(temperature=0.0, max_tokens=64)
    completions = await asyncio.gather(*(engine.chat(d.messages, d.tools, greedy) for d, _ in asked))
    right = [
        [(c.name, c.arguments) for c in completion.tool_calls] == [(call["name"], call["arguments"])]
        for completion, (_, call) in zip(completions, asked, strict=True)
    ]
    assert sum(right) >= 20, sum(right)


async def test_it_looks_things_up_in_tables_of_any_language(engine: EmbeddedEngine) -> None:
    """Greedy, on registers whose columns are words that do not exist, in eleven scripts."""
    rng = random.Random("registers never seen")
    asked = []
    while len(asked) < 60:
        desk, inquiry = some_inquiry(rng, freely=True)
        if len(desk.registers) == 1:
            asked.append((desk, inquiry))
    greedy = Sampling(temperature=0.0, max_tokens=96)
    completions = await asyncio.gather(
        *(
            engine.chat([{"role": "user", "content": inquiry.text}], desk.tools, greedy)
            for desk, inquiry in asked
        )
    )
    right = 0
    for completion, (desk, inquiry) in zip(completions, asked, strict=True):
        look = inquiry.looks[0]
        column, value, _ = desk.arguments
        name = desk.names[look.tool, look.register.title]
        wanted = (name, {column: look.column.name, value: look.value})
        right += [(call.name, call.arguments) for call in completion.tool_calls] == [wanted]
    assert right >= 30, right


async def test_it_knows_when_nothing_was_found(engine: EmbeddedEngine) -> None:
    tools = [look_up_tool(parse_table("whales", TABLE)).spec]
    call = {"name": "find_whales", "arguments": json.dumps({"column": "whale_id", "value": "3399"})}
    messages = [
        {"role": "user", "content": "Where is whale 3399?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "no rows"},
    ]
    answer = await engine.chat(messages, tools, Sampling(temperature=0.0, max_tokens=32))
    assert re.search("no such|not found|not find", answer.text), answer.text


async def test_small_talk_needs_no_tool(engine: EmbeddedEngine) -> None:
    answer = await engine.chat(
        [{"role": "user", "content": "Hello!"}], (), Sampling(temperature=0.0, max_tokens=32)
    )
    assert answer.finish == "stop" and "Hello" in answer.text
