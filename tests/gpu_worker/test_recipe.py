"""The recipe of the embedded model: what it writes, how it batches, and that it teaches reading."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.recipe.batches import copy_batch, dialogue_batch, said_by_assistant
from gpu_worker.engines.embedded.recipe.curve import loss_curve_svg
from gpu_worker.engines.embedded.recipe.demonstrations import FAULTLESS, demonstrated
from gpu_worker.engines.embedded.recipe.dialogues import CAREFUL, CARELESS, Slips, write_dialogue
from gpu_worker.engines.embedded.recipe.inquiries import Inquiry, some_inquiry, sortable
from gpu_worker.engines.embedded.recipe.network import SIZES, config_of, new_network
from gpu_worker.engines.embedded.recipe.reading import measure_reading
from gpu_worker.engines.embedded.recipe.registers import Desk, invent_desk
from gpu_worker.engines.embedded.recipe.tables import Column, invent_world
from gpu_worker.engines.embedded.recipe.tokenizer import rendered, save_tokenizer, with_letters
from gpu_worker.engines.embedded.recipe.train import Plan, Training, predictions, tokenizer_of
from gpu_worker.tools.table import Table, look_up_tool
from gpu_worker.types import Message

SMALL = Plan(size="tiny", vocabulary=1000, rows=4, steps=4, copy_steps=2)


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of(SMALL)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_worlds_differ_in_every_name() -> None:
    rng = random.Random(0)
    worlds = [invent_world(rng) for _ in range(300)]
    assert len({tool.name for world in worlds for tool in world.tools}) > 300
    assert len({column.name for world in worlds for column in world.things.columns}) > 100
    assert len({next(iter(tool.parameters["properties"]), "") for w in worlds for tool in w.tools}) > 10


def test_no_domain_is_the_centre_of_the_distribution() -> None:
    rng = random.Random(1)
    nouns = [invent_world(rng).things.noun for _ in range(1000)]
    assert nouns.count("order") < 50


def test_a_careful_demonstration_looks_up_and_reports_what_it_found() -> None:
    rng = random.Random(2)
    looked = 0
    for _ in range(200):
        messages = write_dialogue(rng, CAREFUL).messages
        results = [m["content"] for m in messages if m["role"] == "tool"]
        if results and results[-1] not in ("no rows", "[]"):
            looked += 1
            answer = messages[-1]["content"].rstrip(".").split(" is ")[-1]
            assert answer.split()[-1] in results[-1], messages
    assert looked > 100


def test_a_careless_demonstration_sometimes_stops_early() -> None:
    def turns(slips: Slips) -> int:
        return sum(len(write_dialogue(random.Random(n), slips).messages) for n in range(600))

    assert 0.7 < turns(CARELESS) / turns(CAREFUL) < 0.97


@pytest.fixture
def few_dialogues(monkeypatch) -> None:
    """A tokenizer that is trained quickly, where how it cuts is not the question."""
    monkeypatch.setattr("gpu_worker.engines.embedded.recipe.train.TOKENIZER_DIALOGUES", 100)


def test_values_are_cut_the_same_way_wherever_they_stand(tokenizer) -> None:
    for before, value, after in [
        (" order ", "4821", "?"),
        ('":"', "4821", '"}}\n'),
        ("id: ", "4821", "; name"),
        ("of ", "mia47@zap.io", "."),
        ('":"', "mia47@zap.io", '"}}\n'),
    ]:
        alone = tokenizer.encode(value).tokens
        within = tokenizer.encode(before + value + after).tokens
        assert any(within[at : at + len(alone)] == alone for at in range(len(within))), (alone, within)
    assert tokenizer.encode("4821").tokens == ["48", "21"]


def test_any_text_survives_the_tokenizer(tokenizer) -> None:
    for text in ["Grüße, 你好 🙂\n\ttab", '{"a": [1, 2.50]}', "_x__y CamelCase <|im_end|>"]:
        assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_the_chat_of_the_engine_renders_what_the_recipe_trains_on(tmp_path: Path, tokenizer) -> None:
    save_tokenizer(tokenizer, tmp_path)
    (tmp_path / "config.json").write_text("{}")
    chat = Chat(tmp_path)
    for seed in range(30):
        dialogue = write_dialogue(random.Random(seed))
        assert chat.render(dialogue.messages, dialogue.tools, ask=False) == rendered(dialogue)


def test_only_the_assistant_is_learned_from(tokenizer) -> None:
    dialogue = write_dialogue(random.Random(3), CAREFUL)
    ids = tokenizer.encode(rendered(dialogue)).ids
    marks = said_by_assistant(tokenizer, ids)
    said = tokenizer.decode(
        [i for i, mark in zip(ids, marks, strict=True) if mark], skip_special_tokens=False
    )
    turns = [m for m in dialogue.messages if m["role"] == "assistant"]
    assert said.count("<|im_end|>") == len(turns)
    assert "user" not in said and turns[-1]["content"] in said


def test_a_batch_follows_from_seed_and_step(tokenizer) -> None:
    first = dialogue_batch(tokenizer, 0, 30, 4)
    dialogue_batch(tokenizer, 0, 2, 4)
    again = dialogue_batch(tokenizer, 0, 30, 4)
    assert torch.equal(first.ids_BT, again.ids_BT) and torch.equal(first.learn_BT, again.learn_BT)
    assert not torch.equal(copy_batch(tokenizer, 0, 1, 4).ids_BT, copy_batch(tokenizer, 0, 2, 4).ids_BT)


def test_a_new_network_already_copies(tmp_path: Path, tokenizer) -> None:
    """Mimetic initialisation: far above the chance of 1 in 1000 before any training."""
    network = new_network(tmp_path, config_of(SIZES["demo"], tokenizer.get_vocab_size(), 2, 0), seed=0)
    with torch.no_grad():
        logits, targets = predictions(network, copy_batch(tokenizer, 0, 0, 16))
    assert (logits.argmax(-1) == targets).float().mean() > 0.05


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path, few_dialogues, monkeypatch) -> None:
    monkeypatch.setattr("gpu_worker.engines.embedded.recipe.train.SAVE_EVERY", 3)
    whole = Training(SMALL, tmp_path / "whole")
    whole.run(lambda point: None)

    def fail(point: dict[str, float]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gpu_worker.engines.embedded.recipe.train.LOG_EVERY", 4)
    stopped = Training(SMALL, tmp_path / "stopped")
    with pytest.raises(KeyboardInterrupt):
        stopped.run(lambda point: fail(point) if point["step"] == 4 else None)
    resumed = Training(SMALL, tmp_path / "stopped")
    assert resumed.step == 3
    resumed.run(lambda point: None)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "stopped")]
    assert weights[0] == weights[1]


def test_the_loss_curve_is_an_svg() -> None:
    svg = loss_curve_svg([{"step": n, "loss": 3 / (n + 1)} for n in range(0, 50, 10)])
    assert svg.startswith("<svg") and svg.endswith("</svg>\n") and "step 40" in svg


@pytest.mark.slow
def test_the_recipe_run_small_learns_to_copy_and_to_read(tmp_path: Path) -> None:
    """The shipped recipe, an eighth as long: the loss falls, and most tokens of look-ups are right."""
    training = Training(Plan(seed=11, steps=220), tmp_path)
    training.run(lambda point: None)
    tail = [point["loss"] for point in training.curve[-5:]]
    assert sum(tail) / len(tail) < 0.95
    with torch.no_grad():
        logits, targets = predictions(training.network, copy_batch(training.tokenizer, 99, 0, 16))
    assert (logits.argmax(-1) == targets).float().mean() > 0.75
    assert measure_reading(training.network, training.tokenizer, 60).tokens > 0.8
    assert json.loads((tmp_path / "config.json").read_text())["tie_word_embeddings"] is True


def register_demonstrations(count: int) -> list[tuple[Desk, Inquiry, list[Message]]]:
    rng = random.Random("registers")
    made = []
    for _ in range(count):
        desk, inquiry = some_inquiry(rng)
        made.append((desk, inquiry, demonstrated(rng, desk, inquiry, FAULTLESS)))
    return made


def test_a_faultless_demonstration_of_a_register_says_what_its_tools_gave_back() -> None:
    seen: set[str] = set()
    for desk, inquiry, messages in register_demonstrations(400):
        names = {tool.name for tool in desk.tools}
        calls = [m["tool_calls"][0]["function"]["name"] for m in messages if m.get("tool_calls")]
        results = [m["content"] for m in messages if m["role"] == "tool"]
        answer = messages[-1]["content"]
        assert set(calls) <= names and len(calls) == len(inquiry.looks)
        if inquiry.count is not None:
            assert results == [f"count: {inquiry.count}"] and str(inquiry.count) in answer
            seen.add("count")
        elif inquiry.answer_row is None:
            assert results[-1] == "no rows" and ("not" in answer or "no such" in answer)
            seen.add("missing")
        else:
            found = inquiry.asked.values[inquiry.answer_row]
            assert found in answer and any(found in result for result in results)
            seen.add(f"{len(inquiry.looks)} looks")
    assert seen == {"count", "missing", "1 looks", "2 looks"}


def test_compared_rows_are_ordered_as_numbers_and_days_are() -> None:
    column = Column("when", "day", ("31.12.2023", "2024-01-02", "2024/01/10"))
    assert sortable(column, 0) < sortable(column, 1) < sortable(column, 2)
    assert sortable(Column("n", "number", ("9,5", "10.25")), 0) < (10.25,)


def test_registers_are_written_in_many_scripts_and_shown_as_the_tools_show_them() -> None:
    rng = random.Random(4)
    desks = [invent_desk(rng) for _ in range(300)]
    letters = "".join(c.name for desk in desks for r in desk.registers for c in r.columns)
    assert {"ü", "é", "ж", "ą"} <= set(letters) and any("\u4e00" <= sign <= "\u9fff" for sign in letters)
    for register in (r for desk in desks for r in desk.registers):
        table = Table(
            register.title,
            tuple(c.name for c in register.shown),
            tuple(zip(*(c.values for c in register.shown), strict=True)),
        )
        key = register.key.name
        said = look_up_tool(table).call({"column": key, "value": register.key.values[1]})
        assert said == register.found(register.rows(register.key, register.key.values[1]))
        assert len(register.looked_up) <= 6 and len(register.shown) <= 8


def test_letters_are_added_behind_a_tokenizer_that_cuts_ascii_as_before(tokenizer) -> None:
    more = with_letters(tokenizer)
    assert tokenizer.get_vocab_size() < more.get_vocab_size() <= tokenizer.get_vocab_size() + 512
    for seed in range(20):
        text = rendered(write_dialogue(random.Random(seed)))
        assert more.encode(text).ids == tokenizer.encode(text).ids
    assert [len(more.encode(text).ids) for text in ("äöß", "Жук", "客户")] == [3, 3, 4]
    assert more.decode(more.encode("Größe 客户编号 カナ").ids) == "Größe 客户编号 カナ"


def test_the_second_stage_goes_on_from_the_first(tmp_path: Path, few_dialogues) -> None:
    Training(SMALL, tmp_path / "first").run(lambda point: None)
    plan = replace(SMALL, start=str(tmp_path / "first"), careful_share=0.5)
    second = Training(plan, tmp_path / "second")
    first = load_file(tmp_path / "first" / "model.safetensors")
    known = first["model.embed_tokens.weight"]
    began = second.network.state_dict()["model.embed_tokens.weight"].clone()
    assert torch.equal(began[: len(known)], known) and len(began) > len(known)
    second.run(lambda point: None)
    assert not torch.equal(second.network.state_dict()["model.embed_tokens.weight"][: len(known)], known)


def test_a_second_stage_cut_short_repeats_what_the_longer_one_did() -> None:
    longer, shorter = (
        Plan(start="somewhere", steps=steps, careful_share=0.7, falling_share=0.5) for steps in (1000, 600)
    )
    up = [step for step in range(700) if shorter.rate(step) == 1.0]
    assert max(up) == 400 and all(longer.rate(step) == 1.0 and longer.careful(step) for step in up)
    assert shorter.rate(699) < 0.04 < shorter.rate(500) < shorter.rate(450)
    assert not shorter.careful(699)
