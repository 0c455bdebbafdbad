"""The recipe of the embedded model: what it writes, how it batches, and that it teaches reading."""

import json
import random
from pathlib import Path

import pytest
import torch

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.recipe.batches import copy_batch, dialogue_batch, said_by_assistant
from gpu_worker.engines.embedded.recipe.curve import loss_curve_svg
from gpu_worker.engines.embedded.recipe.dialogues import CAREFUL, CARELESS, Slips, write_dialogue
from gpu_worker.engines.embedded.recipe.network import SIZES, config_of, new_network
from gpu_worker.engines.embedded.recipe.reading import measure_reading
from gpu_worker.engines.embedded.recipe.tables import invent_world
from gpu_worker.engines.embedded.recipe.tokenizer import rendered, save_tokenizer
from gpu_worker.engines.embedded.recipe.train import Plan, Training, predictions, tokenizer_of

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


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch) -> None:
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
