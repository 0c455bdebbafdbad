"""Conversations through the engine: KV, sharing, batching, ends of turns, adapters, and freed slots."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import wait
from itertools import chain
from pathlib import Path
from random import Random

import pytest
import torch

from gpu_worker.engines.embedded.decoder import causal
from gpu_worker.engines.embedded.directory import ModelError
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.types import Completion, Message, Sampling, ToolSpec
from tests.gpu_worker.test_adapter import peft_model
from tests.tiny_model import Family, build, build_speaking

TOOLS = [ToolSpec("look_up", "Look a row up.", {"type": "object", "properties": {"id": {"type": "string"}}})]
SYSTEM: Message = {"role": "system", "content": "You are the order desk of a shop."}


@pytest.fixture(scope="module")
def shared_engine(tiny_model: Path) -> EmbeddedEngine:
    return EmbeddedEngine(tiny_model, slots=12, max_context=512)


@pytest.fixture
def engine(shared_engine: EmbeddedEngine) -> EmbeddedEngine:
    """An engine as on the first day; every test must leave it so."""
    shared_engine.use_adapter(None)
    assert_all_free(shared_engine)
    return shared_engine


def assert_all_free(engine: EmbeddedEngine) -> None:
    seats = engine.seats
    assert sorted(seats.free) == list(range(seats.slots))
    assert not (seats.waiting or seats.seated or seats.kept or seats.trunks)


def question(text: str) -> list[Message]:
    return [SYSTEM, {"role": "user", "content": text}]


async def play(
    engine: EmbeddedEngine, name: str, text: str, seed: int, turns: int = 3, max_tokens: int = 10
) -> list[Completion]:
    """A try of a few turns; with an empty name no KV is kept."""
    messages, seen, completions = question(text), (), []
    for turn in range(turns):
        sampling = Sampling(max_tokens=max_tokens, seed=seed * 100 + turn)
        completion = await engine.chat(messages, TOOLS, sampling, conversation=name, seen=seen)
        assert completion.prompt_ids[: len(seen)] == seen
        completions.append(completion)
        seen = completion.prompt_ids + completion.token_ids
        messages = [
            *messages,
            {"role": "assistant", "content": completion.text},
            {"role": "tool", "content": f"row {turn * seed}"},
        ]
    engine.release(name)
    return completions


def play_all(engine: EmbeddedEngine, count: int, **options: int) -> list[list[Completion]]:
    async def main() -> list[list[Completion]]:
        tries = [play(engine, f"try {i}", f"Where is order {i // 4}?", i, **options) for i in range(count)]
        return await asyncio.gather(*tries)

    return asyncio.run(main())


def ids_of(completions: Sequence[Completion]) -> list[tuple[int, ...]]:
    return [completion.token_ids for completion in completions]


def assert_close(some: Sequence[Completion], others: Sequence[Completion]) -> None:
    assert ids_of(some) == ids_of(others)
    for one, other in zip(some, others, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def full_forward(engine: EmbeddedEngine, completion: Completion) -> list[float]:
    """Log-probabilities of the sampled ids, computed at once and without any cache."""
    decoder, ids = engine.sampler.decoder, torch.tensor(completion.prompt_ids + completion.token_ids)[None]
    logprobs = decoder.logits(decoder(ids, torch.arange(ids.shape[1])[None], causal)).log_softmax(-1)
    start = len(completion.prompt_ids)
    return [float(logprobs[0, start + i - 1, token]) for i, token in enumerate(completion.token_ids)]


def test_logprobs_over_turns_in_a_full_batch_equal_a_full_forward(engine: EmbeddedEngine) -> None:
    for completions in play_all(engine, 12):
        for completion in completions:
            assert completion.logprobs == pytest.approx(full_forward(engine, completion), abs=1e-5)
    assert_all_free(engine)


@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
def test_every_family_goes_through_the_same_engine(tmp_path: Path, family: Family) -> None:
    engine = EmbeddedEngine(build(tmp_path, family=family, tied=False))
    for completions in play_all(engine, 6):
        for completion in completions:
            assert completion.logprobs == pytest.approx(full_forward(engine, completion), abs=1e-5)


def test_same_seed_same_tokens_whatever_else_is_in_the_batch(engine: EmbeddedEngine) -> None:
    together = play_all(engine, 12)
    for index in (0, 7, 11):
        alone = asyncio.run(play(engine, "alone", f"Where is order {index // 4}?", index))
        assert_close(alone, together[index])


def test_kv_kept_across_turns_equals_computing_it_again(engine: EmbeddedEngine) -> None:
    kept = asyncio.run(play(engine, "kept", "Where is it?", 3, turns=4))
    again = asyncio.run(play(engine, "", "Where is it?", 3, turns=4))
    assert_close(kept, again)


def test_kept_kv_is_not_computed_again(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    prefill = engine.sampler.prefill
    monkeypatch.setattr(
        engine.sampler, "prefill", lambda fills: (fed.extend(f.start for f in fills), prefill(fills))
    )
    completions = asyncio.run(play(engine, "kept", "Where is it?", 3))
    assert fed == [0, *(len(c.prompt_ids) + len(c.token_ids) - 1 for c in completions[:-1])]


def test_a_shared_prefix_equals_an_unshared_one(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = play_all(engine, 8)
    monkeypatch.setattr("gpu_worker.engines.embedded.seats.WORTH_SHARING", 10_000)
    for one, other in zip(shared, play_all(engine, 8), strict=True):
        assert_close(one, other)


def test_equal_prompts_are_prefilled_once(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[tuple[int, int]] = []
    prefill, plant = engine.sampler.prefill, engine.sampler.plant
    monkeypatch.setattr(
        engine.sampler,
        "prefill",
        lambda fills: (plans.extend((f.start, len(f.copies)) for f in fills), prefill(fills)),
    )
    planted: list[int] = []
    monkeypatch.setattr(
        engine.sampler, "plant", lambda ids, trunk: (planted.append(len(ids)), plant(ids, trunk))
    )
    play_all(engine, 8, turns=1)
    assert len(planted) == 1 and planted[0] > 32
    assert plans == [(planted[0], 3)] * 2


def test_the_same_calls_give_the_same_bits(tiny_model: Path, engine: EmbeddedEngine) -> None:
    first, second = play_all(engine, 16, turns=2), play_all(engine, 16, turns=2)
    fresh = play_all(EmbeddedEngine(tiny_model, slots=12, max_context=512), 16, turns=2)
    assert first == second == fresh


def test_more_requests_than_slots_wait_in_line(engine: EmbeddedEngine) -> None:
    everybody = play_all(engine, 40, turns=2)
    assert_close(asyncio.run(play(engine, "alone", "Where is order 9?", 37, turns=2)), everybody[37])
    assert_all_free(engine)


def test_idle_conversations_give_way_to_those_in_line(engine: EmbeddedEngine) -> None:
    async def main() -> list[Completion]:
        sampling = Sampling(max_tokens=4, seed=1)
        first = await engine.chat(question("a"), [], sampling, conversation="first")
        for index in range(engine.seats.slots + 3):
            await engine.chat(question(str(index)), [], sampling, conversation=f"other {index}")
        assert "first" not in engine.seats.kept
        seen = first.prompt_ids + first.token_ids
        messages = [*question("a"), {"role": "assistant", "content": first.text}, *question("b")[1:]]
        second = await engine.chat(messages, [], sampling, conversation="first", seen=seen)
        return [second, await engine.chat(messages, [], sampling, seen=seen)]

    kept, computed = asyncio.run(main())
    assert_close([kept], [computed])


def test_seen_that_was_changed_is_computed_from_where_it_differs(engine: EmbeddedEngine) -> None:
    async def main() -> tuple[Completion, Completion]:
        group = [play(engine, f"g{i}", "Where is it?", i, turns=1) for i in range(3)]
        sampling = Sampling(max_tokens=8, seed=5)
        first, *_ = await asyncio.gather(
            engine.chat(question("Where is it?"), TOOLS, sampling, conversation="mine"), *group
        )
        ids = list(first.prompt_ids + first.token_ids)
        ids[5] = 77
        messages = [
            *question("Where is it?"),
            {"role": "assistant", "content": first.text},
            *question("b")[1:],
        ]
        changed = await engine.chat(messages, TOOLS, sampling, conversation="mine", seen=ids)
        engine.release("mine")
        return changed, await engine.chat(messages, TOOLS, sampling, seen=ids)

    changed, fresh = asyncio.run(main())
    assert changed.prompt_ids[5] == 77
    assert_close([changed], [fresh])


def test_max_tokens_end_a_turn(engine: EmbeddedEngine) -> None:
    (completion,) = asyncio.run(play(engine, "", "a", 1, turns=1, max_tokens=5))
    assert (len(completion.token_ids), len(completion.logprobs), completion.finish) == (5, 5, "length")
    (nothing,) = asyncio.run(play(engine, "", "a", 1, turns=1, max_tokens=0))
    assert (nothing.token_ids, nothing.finish) == ((), "length")


def test_the_end_of_context_ends_a_turn(engine: EmbeddedEngine) -> None:
    room = engine.max_context - len(engine.chat_form.prompt_ids(question(""), []))
    text = "".join(chr(0x4E00 + i) for i in range((room - 7) // 3))

    async def main(text: str) -> Completion:
        return await engine.chat(question(text), [], Sampling(max_tokens=400, seed=2), conversation="long")

    completion = asyncio.run(main(text))
    assert completion.finish == "context" and 0 < len(completion.token_ids) <= 10
    assert len(completion.prompt_ids + completion.token_ids) == engine.max_context
    assert completion.logprobs == pytest.approx(full_forward(engine, completion), abs=1e-5)
    overflow = asyncio.run(main(text * 2))
    assert (overflow.finish, overflow.token_ids, overflow.text) == ("context", (), "")


def test_a_stop_text_ends_a_turn_before_it(engine: EmbeddedEngine) -> None:
    async def main(*stop: str) -> Completion:
        return await engine.chat(question("a"), [], Sampling(max_tokens=40, seed=4, stop=stop))

    free = asyncio.run(main())
    stop = free.text[12:15]
    stopped = asyncio.run(main("never to be found", stop))
    assert stopped.finish == "stop" and stopped.text == free.text[: free.text.index(stop)].strip()
    assert stopped.token_ids == free.token_ids[: len(stopped.token_ids)]
    assert stop in engine.chat_form.decode(stopped.token_ids)


def test_streamed_text_is_the_text(engine: EmbeddedEngine) -> None:
    async def main(seed: int) -> tuple[Completion, list[str]]:
        pieces: list[str] = []
        sampling = Sampling(max_tokens=30, seed=seed)
        return await engine.chat(question("a"), [], sampling, on_text=pieces.append), pieces

    for seed in range(8):
        completion, pieces = asyncio.run(main(seed))
        if completion.problem is None:
            assert "".join(pieces) == completion.text
            assert len(pieces) > 3


def test_a_spoken_tool_call_is_read_and_not_streamed(tmp_path: Path) -> None:
    said = ["So: ", "<tool_call>", '{"name": "up",', '\n"arguments":', "{ }}", "</tool_call>"]
    engine = EmbeddedEngine(build_speaking(tmp_path, said))
    pieces: list[str] = []

    async def main(on_text: bool) -> Completion:
        return await engine.chat(question("a"), [], Sampling(), on_text=pieces.append if on_text else None)

    streamed, plain = asyncio.run(main(True)), asyncio.run(main(False))
    assert streamed == plain
    assert (plain.text, plain.finish, plain.problem) == ("So:", "stop", None)
    assert [(call.name, call.arguments) for call in plain.tool_calls] == [("up", {})]
    assert plain.tool_calls[0].id == f"call_{len(plain.prompt_ids)}_0"
    assert "".join(pieces) == "So:"
    assert engine.chat_form.decode(plain.token_ids) == "".join(said) + "<|im_end|>"


def test_cancelling_a_chat_frees_its_slot(engine: EmbeddedEngine) -> None:
    async def main() -> list[Completion]:
        cancelled = [asyncio.create_task(play(engine, f"c{i}", "a", i, max_tokens=200)) for i in range(15)]
        going_on = asyncio.create_task(play(engine, "on", "b", 1, turns=2))
        for _ in range(30):
            await asyncio.sleep(0)
        assert len(engine.seats.seated) == 12 and len(engine.seats.waiting) == 4
        for task in cancelled:
            task.cancel()
        await asyncio.gather(*cancelled, return_exceptions=True)
        assert all(task.cancelled() for task in cancelled)
        assert len(engine.seats.seated) + len(engine.seats.waiting) == 1
        return await going_on

    going_on = asyncio.run(main())
    assert_all_free(engine)
    assert_close(going_on, asyncio.run(play(engine, "", "b", 1, turns=2)))


async def hostile_try(engine: EmbeddedEngine, name: str, random: Random) -> list[Completion]:
    """A try of random turns that keeps or drops its conversation and may be cancelled at any moment."""
    messages, seen, completions = (
        question(random.choice(["Where is it?", "Where is order 7?", "你好" * 30])),
        (),
        [],
    )
    for _ in range(random.randint(1, 5)):
        sampling = Sampling(
            random.choice([0.7, 1.0, 2.0]), max_tokens=random.randint(1, 30), seed=random.getrandbits(70)
        )
        ask = engine.chat(messages, TOOLS, sampling, conversation=random.choice([name, name, ""]), seen=seen)
        task = asyncio.create_task(ask)
        if random.random() < 0.2:
            for _ in range(random.randint(0, 40)):
                await asyncio.sleep(0)
            task.cancel()
        completion = (await asyncio.gather(task, return_exceptions=True))[0]
        if not isinstance(completion, Completion):
            continue
        completions.append(completion)
        if random.random() < 0.1:
            engine.release(name)
        seen = completion.prompt_ids + completion.token_ids
        said = {"role": "assistant", "content": completion.text}
        messages = [*messages, said, {"role": "tool", "content": "row" * random.randint(0, 30)}]
    engine.release(name)
    return completions


def test_nothing_drifts_over_hostile_conversations(engine: EmbeddedEngine) -> None:
    async def main(random: Random) -> list[list[Completion]]:
        tries = [hostile_try(engine, f"{i}", Random(random.getrandbits(32))) for i in range(20)]
        return await asyncio.gather(*tries)

    for completion in chain.from_iterable(asyncio.run(main(Random(1)))):
        if completion.token_ids:
            assert completion.logprobs == pytest.approx(full_forward(engine, completion), abs=1e-5)
    assert_all_free(engine)


def test_release_frees_the_slot_also_while_a_turn_is_running(engine: EmbeddedEngine) -> None:
    async def main() -> None:
        task = asyncio.create_task(engine.chat(question("a"), [], Sampling(max_tokens=20), conversation="x"))
        for _ in range(12):
            await asyncio.sleep(0)
        assert engine.seats.seated
        engine.release("x")
        engine.release("never heard of")
        await task

    asyncio.run(main())
    assert_all_free(engine)


def test_a_conversation_has_one_turn_at_a_time(engine: EmbeddedEngine) -> None:
    async def main() -> None:
        ask = lambda: engine.chat(question("a"), [], Sampling(max_tokens=3), conversation="x")  # noqa: E731
        await asyncio.gather(ask(), ask())

    with pytest.raises(ValueError, match="already being answered"):
        asyncio.run(main())
    engine.release("x")


def test_an_error_in_a_step_reaches_everybody_and_nobody_after(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> list[object]:
        tries = [play(engine, str(i), "a", i) for i in range(14)]
        return await asyncio.gather(*tries, return_exceptions=True)

    with monkeypatch.context() as patched:
        patched.setattr(engine.sampler, "decode", lambda slots: 1 / 0)
        outcomes = asyncio.run(main())
    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 14
    assert_all_free(engine)
    play_all(engine, 2)


def test_a_listener_that_breaks_ends_only_its_own_turn(engine: EmbeddedEngine) -> None:
    def broken(piece: str) -> None:
        raise ConnectionError(piece)

    async def main() -> list[object]:
        chats = [
            engine.chat(question("a"), [], Sampling(max_tokens=9, seed=i), on_text=broken if i == 1 else None)
            for i in range(3)
        ]
        return await asyncio.gather(*chats, return_exceptions=True)

    outcomes = asyncio.run(main())
    assert [type(outcome) for outcome in outcomes] == [Completion, ConnectionError, Completion]
    assert_all_free(engine)


@pytest.fixture(scope="module")
def adapter(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("adapter")
    peft_model(tiny_model, r=4, lora_alpha=8).save_pretrained(directory)
    return directory


def test_an_adapter_changes_what_is_said_and_none_restores_it(engine: EmbeddedEngine, adapter: Path) -> None:
    base = play_all(engine, 3)
    engine.use_adapter(adapter)
    adapted = play_all(engine, 3)
    assert adapted != base
    assert adapted[2][2].logprobs == pytest.approx(full_forward(engine, adapted[2][2]), abs=1e-5)
    engine.use_adapter(None)
    assert play_all(engine, 3) == base


def test_an_adapter_swapped_within_a_turn_counts_from_the_next_token(
    engine: EmbeddedEngine, adapter: Path
) -> None:
    async def main() -> list[Completion]:
        sampling = Sampling(max_tokens=30, seed=3)
        asked = [engine.chat(question("a"), [], sampling, conversation=f"c{i}") for i in range(14)]
        tasks = [asyncio.create_task(chat) for chat in asked]
        for _ in range(40):
            await asyncio.sleep(0)
        engine.use_adapter(adapter)
        return await asyncio.gather(*tasks)

    completion, *_, last = asyncio.run(main())
    adapted = full_forward(engine, completion)
    assert last.logprobs == pytest.approx(full_forward(engine, last), abs=1e-5)
    engine.use_adapter(None)
    base = full_forward(engine, completion)
    same = [abs(x - y) < 1e-5 for x, y in zip(completion.logprobs, base, strict=True)]
    swap = same.index(False)
    assert 3 < swap < 27 and all(same[:swap])
    assert completion.logprobs[swap:] == pytest.approx(adapted[swap:], abs=1e-5)


def test_a_broken_adapter_leaves_the_engine_as_it_was(engine: EmbeddedEngine, tmp_path: Path) -> None:
    before = play_all(engine, 1)
    with pytest.raises(ModelError):
        engine.use_adapter(tmp_path)
    assert play_all(engine, 1) == before


def other_weights(engine: EmbeddedEngine, seed: int = 1) -> dict[str, torch.Tensor]:
    """Weights for all linear layers that say something else than the model's own."""
    generator = torch.Generator().manual_seed(seed)
    own = {name: p for name, p in engine.weights.pristine.items() if name.endswith("_proj.weight")}
    return {name: p + 0.05 * torch.randn(p.shape, generator=generator) for name, p in own.items()}


def test_adopted_weights_are_sampled_from_and_none_restores_the_base(engine: EmbeddedEngine) -> None:
    base = play_all(engine, 3)
    weights = other_weights(engine)
    engine.adopt(weights)
    adopted = play_all(engine, 3)
    assert adopted != base
    assert adopted[2][2].logprobs == pytest.approx(full_forward(engine, adopted[2][2]), abs=1e-5)
    name, tensor = next(iter(weights.items()))
    assert engine.sampler.decoder.get_parameter(name).data_ptr() == tensor.data_ptr()
    engine.adopt({})
    assert play_all(engine, 3) == base


def test_between_tries_adopted_weights_leave_no_trace_of_earlier_ones(
    tiny_model: Path, engine: EmbeddedEngine
) -> None:
    weights = other_weights(engine)
    play_all(engine, 9)
    engine.adopt(other_weights(engine, 2))
    play_all(engine, 14)
    engine.adopt(weights)
    assert_all_free(engine)
    fresh = EmbeddedEngine(tiny_model, slots=12, max_context=512)
    fresh.adopt(weights)
    assert play_all(engine, 16, turns=2) == play_all(fresh, 16, turns=2)


def start_turns(
    engine: EmbeddedEngine, count: int, steps: int
) -> Callable[[], Coroutine[None, None, list[asyncio.Task[Completion]]]]:
    """Starts turns that begin alike, and lets them run for a while."""

    async def main() -> list[asyncio.Task[Completion]]:
        sampling = Sampling(max_tokens=30, seed=3)
        asked = [engine.chat(question("a"), [], sampling, conversation=f"c{i}") for i in range(count)]
        tasks = [asyncio.create_task(chat) for chat in asked]
        for _ in range(steps):
            await asyncio.sleep(0)
        return tasks

    return main


def adopt_now(engine: EmbeddedEngine) -> None:
    """Adopt other weights while turns are under way, and wait until the next step can use them."""
    engine.adopt(other_weights(engine))
    assert engine._coming is not None
    wait([engine._coming.laying_out])


def test_weights_adopted_one_after_the_other_while_turns_are_under_way_end_with_the_last(
    engine: EmbeddedEngine,
) -> None:
    async def main() -> None:
        tasks = await start_turns(engine, 4, 40)()
        engine.adopt(other_weights(engine, 2))
        engine.adopt(other_weights(engine, 3))
        await asyncio.gather(*tasks)

    asyncio.run(main())
    for name in list(engine.seats.kept):
        engine.release(name)
    (completions,) = play_all(engine, 1)
    last = other_weights(engine, 3)
    engine.adopt({})
    engine.adopt(last)
    assert play_all(engine, 1) == [completions]


def test_a_turn_under_way_goes_on_with_adopted_weights_from_what_it_has(engine: EmbeddedEngine) -> None:
    async def main() -> Completion:
        tasks = await start_turns(engine, 4, 40)()
        fed = [len(turn.known) for turn in engine.seats.seated.values()]
        adopt_now(engine)
        assert [len(turn.known) for turn in engine.seats.seated.values()] == fed  # nobody was sent back
        return (await asyncio.gather(*tasks))[0]

    before = asyncio.run(start_and_finish(engine))
    swapped = asyncio.run(main())
    same = [a == b for a, b in zip(before.logprobs, swapped.logprobs, strict=False)]
    swap = same.index(False)
    assert 3 < swap < 27 and all(same[:swap])
    for name in list(engine.seats.kept):
        engine.release(name)
    assert_all_free(engine)


async def start_and_finish(engine: EmbeddedEngine) -> Completion:
    tasks = await start_turns(engine, 4, 0)()
    first, *_ = await asyncio.gather(*tasks)
    for index in range(4):
        engine.release(f"c{index}")
    return first


def test_newcomers_share_nothing_computed_under_earlier_weights(engine: EmbeddedEngine) -> None:
    async def main() -> Completion:
        tasks = await start_turns(engine, 4, 40)()
        assert engine.seats.trunks
        adopt_now(engine)
        newcomer = await engine.chat(question("a"), [], Sampling(max_tokens=8, seed=5))
        await asyncio.gather(*tasks)
        return newcomer

    newcomer = asyncio.run(main())
    assert newcomer.logprobs == pytest.approx(full_forward(engine, newcomer), abs=1e-5)
    for name in list(engine.seats.kept):
        engine.release(name)
    assert_all_free(engine)


def test_bfloat16_samples_near_what_float32_would(tiny_model: Path) -> None:
    engine = EmbeddedEngine(tiny_model, slots=12, max_context=512, dtype="bfloat16")
    completions = list(chain.from_iterable(play_all(engine, 8)))
    own = torch.tensor([x for completion in completions for x in completion.logprobs])
    full = torch.tensor([x for completion in completions for x in full_forward(engine, completion)])
    assert 0 < (own - full).abs().mean() < 0.02
    assert list(chain.from_iterable(play_all(engine, 8))) == completions


def test_weights_that_do_not_fit_leave_the_engine_as_it_was(engine: EmbeddedEngine) -> None:
    before = play_all(engine, 1)
    for unfit in ({"nothing.weight": torch.zeros(2)}, {"model.norm.weight": torch.zeros(3)}):
        with pytest.raises(ModelError, match="do not fit"):
            engine.adopt(unfit)
    assert play_all(engine, 1) == before


def test_a_tokenizer_too_large_for_the_model_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    shutil.copytree(tiny_model, tmp_path, dirs_exist_ok=True)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.add_tokens(["<one more>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match="more ids than the model knows"):
        EmbeddedEngine(tmp_path)


def test_a_context_that_memory_cannot_hold_is_refused(tiny_model: Path) -> None:
    with pytest.raises(ModelError, match="fewer slots or a shorter context"):
        EmbeddedEngine(tiny_model, slots=2**40)
