"""Which models are loaded, and which adapter each of them speaks with at the moment.

An engine holds one adapter at a time. Requests for the adapter of the present turn join in and are
batched by the engine; as soon as somebody waits for another one, newcomers queue behind, so everybody
gets a turn. HTTP is left to `serve.py`, the computing to the engine.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from gpu_worker.checkpoints import ADAPTER, ADAPTER_CONFIG, WHOLE, WHOLE_CONFIG

FILES = ((ADAPTER, ADAPTER_CONFIG), (WHOLE, WHOLE_CONFIG))
"""Weights and what is said of them: a LoRA adapter in PEFT's files, or all weights of a model."""


class Refusal(Exception):
    """What was asked for cannot be given; `status` and `code` are for programs, the text for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Adapter:
    """A directory with trained weights as they were when the request came: changed files are another one."""

    directory: Path
    weights: str
    signature: tuple[tuple[int, int, int], ...]


def adapter_at(directory: Path) -> Adapter:
    """Raises Refusal (404) where the directory or one of its two files is gone."""
    for names in FILES:
        try:
            files = [(directory / name).stat() for name in names]
        except OSError:
            continue
        return Adapter(directory, names[0], tuple((f.st_mtime_ns, f.st_size, f.st_ino) for f in files))
    weights, config = FILES[0]
    message = f"The adapter in {directory.name!r} is gone: there is no {weights} with its {config}."
    raise Refusal(404, "adapter_missing", message)


def weights_sha256(adapter: Adapter) -> str:
    with (adapter.directory / adapter.weights).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class HasAdapter(Protocol):
    def use_adapter(self, directory: Path | None) -> None: ...


E = TypeVar("E", bound=HasAdapter)


class Turns(Generic[E]):
    """Lends one engine out, adapter by adapter."""

    def __init__(self, engine: E) -> None:
        self.engine = engine
        self.users = 0
        self._speaks: Adapter | None = None
        self._known = True  # False after an adapter failed to load: what the engine holds is unclear
        self._turn: Adapter | None = None
        self._line: deque[tuple[Adapter | None, asyncio.Future[None]]] = deque()

    @property
    def idle(self) -> bool:
        return not self.users and not self._line

    @asynccontextmanager
    async def turn(self, adapter: Adapter | None) -> AsyncIterator[E]:
        """The engine, speaking with `adapter` until the block ends. Raises what `use_adapter` raises."""
        await self._enter(adapter)
        try:
            self._switch(adapter)
            yield self.engine
        finally:
            self._leave()

    async def _enter(self, adapter: Adapter | None) -> None:
        if not self._line and (not self.users or self._turn == adapter):
            self._turn = adapter
            self.users += 1
            return
        place = (adapter, asyncio.get_running_loop().create_future())
        self._line.append(place)
        try:
            await place[1]
        except asyncio.CancelledError:
            if place in self._line:
                self._line.remove(place)
            elif not place[1].cancelled():  # called up and cancelled at once
                self._leave()
            raise

    def _leave(self) -> None:
        self.users -= 1
        self._next_turn()

    def _next_turn(self) -> None:
        """When nobody speaks any more: the first in line, and all who want the same adapter."""
        self._line = deque(place for place in self._line if not place[1].cancelled())
        if self.users or not self._line:
            return
        self._turn = self._line[0][0]
        called = [place for place in self._line if place[0] == self._turn]
        self._line = deque(place for place in self._line if place[0] != self._turn)
        self.users = len(called)
        for _adapter, future in called:
            future.set_result(None)

    def _switch(self, adapter: Adapter | None) -> None:
        if self._known and self._speaks == adapter:
            return
        self._known = False
        directory = adapter.directory if adapter else None
        self.engine.use_adapter(directory)
        self._speaks, self._known = adapter, True


class Engines(Generic[E]):
    """Base models by directory, loaded when first asked for; the longest unused makes room."""

    def __init__(self, load: Callable[[Path], E], most: int) -> None:
        self._load = load
        self._most = most
        self._turns: OrderedDict[Path, Turns[E]] = OrderedDict()
        self._loading = asyncio.Lock()

    @property
    def loaded(self) -> list[str]:
        return [str(path) for path in self._turns]

    @property
    def answering(self) -> int:
        return sum(turns.users for turns in self._turns.values())

    async def turns(self, model: Path) -> Turns[E]:
        """Raises Refusal (503) when every loaded model is busy, and what loading raises."""
        if model not in self._turns:
            async with self._loading:
                if model not in self._turns:
                    self._make_room()
                    self._turns[model] = Turns(await asyncio.to_thread(self._load, model))
        self._turns.move_to_end(model)
        return self._turns[model]

    def _make_room(self) -> None:
        while len(self._turns) >= self._most:
            idle = next((path for path, turns in self._turns.items() if turns.idle), None)
            if idle is None:
                message = f"All {self._most} models in memory are answering; try again in a moment."
                raise Refusal(503, "models_busy", message)
            del self._turns[idle]
