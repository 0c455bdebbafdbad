"""Who may use an engine when several adapters are asked for at once."""

import asyncio
from pathlib import Path

import pytest

from gpu_worker.turns import Adapter, Engines, Refusal, Turns, adapter_at


class Speaker:
    """An engine that only notes which adapter it was given."""

    def __init__(self, model: Path = Path("model")) -> None:
        self.model = model
        self.given: list[str | None] = []
        self.broken: set[str] = set()

    def use_adapter(self, directory: Path | None) -> None:
        name = directory.name if directory else None
        if name in self.broken:
            raise ValueError(f"{name} is broken")
        self.given.append(name)


A, B = (Adapter(Path(name), "adapter_model.safetensors", ()) for name in "ab")


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_for_the_same_adapter_share_a_turn() -> None:
    turns = Turns(Speaker())
    async with turns.turn(A) as first, turns.turn(A) as second:
        assert first is second and turns.users == 2
    assert turns.idle and first.given == ["a"]


async def test_the_base_model_is_an_adapter_like_any_other() -> None:
    turns = Turns(Speaker())
    for adapter in (None, None, A, None):
        async with turns.turn(adapter):
            pass
    assert turns.engine.given == ["a", None]


async def test_another_adapter_waits_until_the_turn_ends_and_newcomers_queue_behind_it() -> None:
    turns, order = Turns(Speaker()), []
    gate = asyncio.Event()

    async def ask(name: str, adapter: Adapter) -> None:
        async with turns.turn(adapter):
            order.append(name)
            await gate.wait()

    tasks = []
    for name, adapter in [("a1", A), ("a2", A), ("b1", B), ("a3", A), ("b2", B)]:
        tasks.append(asyncio.create_task(ask(name, adapter)))
        await settle()
    assert order == ["a1", "a2"]
    gate.set()
    await asyncio.gather(*tasks)
    assert order == ["a1", "a2", "b1", "b2", "a3"]
    assert turns.engine.given == ["a", "b", "a"] and turns.idle


async def test_nobody_starves_under_a_steady_stream_for_one_adapter() -> None:
    turns = Turns(Speaker())
    served = asyncio.Event()

    async def ask_once(adapter: Adapter) -> None:
        async with turns.turn(adapter):
            await asyncio.sleep(0)

    async def steady() -> None:
        while not served.is_set():
            await ask_once(A)

    async def rare() -> None:
        await settle()
        await ask_once(B)
        served.set()

    async with asyncio.timeout(60):
        await asyncio.gather(steady(), steady(), steady(), rare())


async def test_whoever_gives_up_waiting_leaves_the_line() -> None:
    turns = Turns(Speaker())
    async with turns.turn(A):
        loans = [turns.turn(adapter) for adapter in (B, A)]
        waiting = [asyncio.create_task(loan.__aenter__()) for loan in loans]
        await settle()
        waiting[0].cancel()
        await settle()
    await settle()
    assert waiting[0].cancelled() and waiting[1].result() is turns.engine
    assert turns.users == 1


async def test_cancelled_in_the_moment_of_being_called_frees_the_engine() -> None:
    turns = Turns(Speaker())

    async def ask() -> None:
        async with turns.turn(B):
            await asyncio.sleep(60)

    async with turns.turn(A):
        waiting = asyncio.create_task(ask())
        await settle()
    waiting.cancel()  # its turn has come, but it has not run yet
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert turns.idle


async def test_after_a_broken_adapter_the_next_one_is_loaded_afresh() -> None:
    turns = Turns(Speaker())
    turns.engine.broken.add("b")
    async with turns.turn(A):
        pass
    with pytest.raises(ValueError, match="b is broken"):
        async with turns.turn(B):
            pass
    async with turns.turn(A):
        pass
    assert turns.engine.given == ["a", "a"]


async def test_the_longest_unused_model_makes_room_but_never_a_busy_one() -> None:
    engines = Engines(Speaker, most=2)
    one = await engines.turns(Path("one"))
    await engines.turns(Path("two"))
    await engines.turns(Path("one"))
    await engines.turns(Path("three"))
    assert engines.loaded == ["one", "three"]
    three = await engines.turns(Path("three"))
    async with one.turn(None), three.turn(None):
        with pytest.raises(Refusal, match="try again") as caught:
            await engines.turns(Path("four"))
    assert caught.value.status == 503


async def test_a_model_asked_for_twice_at_once_is_loaded_once() -> None:
    engines = Engines(Speaker, most=2)
    first, second = await asyncio.gather(engines.turns(Path("one")), engines.turns(Path("one")))
    assert first is second


def test_changed_files_are_another_adapter(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="is gone") as caught:
        adapter_at(tmp_path)
    assert caught.value.status == 404
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"old")
    before = adapter_at(tmp_path)
    assert adapter_at(tmp_path) == before
    (tmp_path / "adapter_model.safetensors").write_bytes(b"newer")
    assert adapter_at(tmp_path) != before
