"""Plays rounds of groups in processes of their own, so that every core samples; one torch thread each.

A process is forked before the training starts, keeps an engine, and is told two things: which weights to
use, and which groups to play. Groups are dealt out by their index, never by who is free, so timing
changes nothing. Weights pass through memory that all processes share: two copies, written in turns, so
nobody ever reads what is being written, and the engine only swaps pointers.

What it does not do: outlive a lost process. When one dies the training ends too (`SamplerLost`), and
whoever started it goes on from the newest checkpoint. On a GPU, where engine and learner share a device,
`players.Local` is used instead.
"""

import asyncio
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from gpu_worker.players import Local
from gpu_worker.types import Engine, Environment, Group, Job, Place, Players, Scenario

LENGTH = struct.Struct("<Q")
"""What precedes each message: the number of its bytes."""
FIRST_OWN_DESCRIPTOR = 3
"""Descriptors below are standard input, output and error."""


class SamplerLost(Exception):
    """A sampling process ended by itself; the sentence says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "A process that plays tries ended unexpectedly, perhaps for want of memory. "
            "The training goes on from its last checkpoint when it is started again."
        )


class SharedWeights:
    """Two copies of a set of fp32 tensors in memory that forked processes share."""

    def __init__(self, like: Mapping[str, Tensor]) -> None:
        numbers = sum(map(_room, like.values()))
        self._pages = [mmap.mmap(-1, max(1, numbers) * torch.float32.itemsize) for _ in range(2)]
        self.copies = [self._views(pages, like) for pages in self._pages]
        self._written = 1

    @staticmethod
    def _views(pages: mmap.mmap, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
        flat, at, views = torch.frombuffer(pages, dtype=torch.float32), 0, {}
        for name, tensor in like.items():
            views[name] = flat[at : at + tensor.numel()].view(tensor.shape)
            at += _room(tensor)
        return views

    def write(self, weights: Mapping[str, Tensor]) -> int:
        """Fill the copy that is not in use; returns which one it is."""
        self._written = 1 - self._written
        with torch.no_grad():
            for name, view in self.copies[self._written].items():
                view.copy_(weights[name])
        return self._written


@contextmanager
def players(
    job: Job, environment: Environment, engine: Callable[[], Engine], weights: Mapping[str, Tensor]
) -> Iterator[Players]:
    """Whoever plays a job's tries: `job.samplers` processes, or this one when it has none."""
    if job.samplers == 0:
        yield Local(job, environment, engine())
        return
    with Crew(job, environment, engine, weights) as crew:
        yield crew


def _room(tensor: Tensor) -> int:
    """Numbers from one tensor to the next: each starts where an allocated one would, at 64 bytes.

    Matrix kernels add up in another order, with other last bits, where memory is aligned differently.
    """
    return -(-tensor.numel() // 16) * 16


class Crew:
    """Implements types.Players with `job.samplers` processes. A context: they live inside it.

    `engine` is called once in every process. `weights` are tensors like those `use` will be given.
    """

    def __init__(
        self, job: Job, environment: Environment, engine: Callable[[], Engine], weights: Mapping[str, Tensor]
    ) -> None:
        self._job, self._environment, self._engine = job, environment, engine
        self._shared = SharedWeights(weights)
        self._members: list[_Member] = []

    def __enter__(self) -> "Crew":
        for _ in range(max(1, self._job.samplers)):
            self._members.append(self._hired())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._members:
            member.dismiss()
        self._members = []

    def play(
        self, round_: Sequence[tuple[Scenario, Place]], tries: int, on_try: Callable[[], None]
    ) -> list[asyncio.Future[Group]]:
        """Deal a round out. Each process gets its whole share in one message, so it plays it at once."""
        loop = asyncio.get_running_loop()
        groups: list[asyncio.Future[Group]] = [loop.create_future() for _ in round_]
        for number, member in enumerate(self._members):
            share = [at for at, (_, place) in enumerate(round_) if place.index % len(self._members) == number]
            if share:
                member.play([round_[at] for at in share], tries, [groups[at] for at in share], on_try)
        return groups

    async def use(self, weights: Mapping[str, Tensor], step: int) -> None:
        copy = self._shared.write(weights) if weights else None
        await asyncio.gather(*(member.use(copy, step) for member in self._members))

    def _hired(self) -> "_Member":
        """A new process. It keeps nothing of this one's but memory, its standard output and its socket."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            return _Member(pid, ours)
        try:
            _leave_the_parents_things_alone(theirs.fileno())
            asyncio.run(_serve(theirs, self._shared, self._players))
            os._exit(0)
        except BaseException:  # whatever it was, a forked process must not run its parent's code
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)

    def _players(self) -> Local:
        torch.set_num_threads(1)
        return Local(self._job, self._environment, self._engine())


class _Member:
    """One process as its parent sees it."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid, self._connection = pid, connection
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._groups: list[asyncio.Future[Group]] = []
        self._used: asyncio.Future[None] | None = None
        self._on_try: Callable[[], None] = lambda: None

    async def use(self, copy: int | None, step: int) -> None:
        if self._writer is None:
            reader, self._writer = await asyncio.open_connection(sock=self._connection)
            self._listener = asyncio.create_task(self._listen(reader))
        self._used = asyncio.get_running_loop().create_future()
        _send(self._writer, ("use", copy, step))
        await self._used

    def play(
        self,
        round_: Sequence[tuple[Scenario, Place]],
        tries: int,
        groups: list[asyncio.Future[Group]],
        on_try: Callable[[], None],
    ) -> None:
        assert self._writer is not None, "use comes before play"
        self._groups, self._on_try = groups, on_try
        if self._listener is None or self._listener.done():
            self._fail(SamplerLost())
        else:
            _send(self._writer, ("play", round_, tries))

    def dismiss(self) -> None:
        """End the process: it leaves when its connection closes, at the latest when it is killed."""
        self._connection.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                self._heard(*await _received(reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            self._fail(SamplerLost())

    def _heard(self, kind: str, at: int = 0, value: Any = None) -> None:
        match kind:
            case "used" if self._used is not None:
                self._used.set_result(None)
            case "try":
                self._on_try()
            case "played" if not self._groups[at].done():
                self._groups[at].set_result(value)
            case "failed":
                self._fail(value)

    def _fail(self, error: Exception) -> None:
        for group in self._groups:
            if not group.done():
                group.set_exception(error)
        if self._used is not None and not self._used.done():
            self._used.set_exception(error)


async def _serve(connection: socket.socket, shared: SharedWeights, start: Callable[[], Players]) -> None:
    """What a process does until its parent closes the connection."""
    reader, writer = await asyncio.open_connection(sock=connection)
    playing: set[asyncio.Task[None]] = set()
    try:
        players = start()
        while True:
            kind, *content = await _received(reader)
            if kind == "use":
                copy, step = content
                await players.use({} if copy is None else shared.copies[copy], step)
                _send(writer, ("used",))
            else:
                task = asyncio.create_task(_play(players, writer, *content))
                playing.add(task)
                task.add_done_callback(playing.discard)
    except (asyncio.IncompleteReadError, ConnectionError):  # the parent left, or was killed
        os._exit(0)
    except Exception as error:
        _send(writer, ("failed", 0, _portable(error)))
        await writer.drain()
        raise


async def _play(
    players: Players, writer: asyncio.StreamWriter, round_: Sequence[tuple[Scenario, Place]], tries: int
) -> None:
    """Play a round and send each group as soon as it is over."""

    async def sent(at: int, group: Any) -> None:
        try:
            _send(writer, ("played", at, await group))
        except Exception as error:
            _send(writer, ("failed", at, _portable(error)))

    groups = players.play(round_, tries, lambda: _send(writer, ("try",)))
    await asyncio.gather(*(sent(at, group) for at, group in enumerate(groups)))


def _leave_the_parents_things_alone(own_descriptor: int) -> None:
    """Close every descriptor but the standard ones and our own, and forget the parent's signal handlers."""
    os.closerange(FIRST_OWN_DESCRIPTOR, own_descriptor)
    os.closerange(own_descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    for signum in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business; its end is ours


def _send(writer: asyncio.StreamWriter, message: tuple[Any, ...]) -> None:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    writer.write(LENGTH.pack(len(content)) + content)


async def _received(reader: asyncio.StreamReader) -> tuple[Any, ...]:
    """The next message. Pickle is safe here: the other end is our own fork, on a nameless socket."""
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    message: tuple[Any, ...] = pickle.loads(await reader.readexactly(length))
    return message


def _portable(error: Exception) -> Exception:
    """The error itself, or its name and words where it cannot be pickled."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return copy if isinstance(copy, Exception) else RuntimeError(repr(error))
