"""Who sits where: turns in line, turns being sampled, conversations whose KV is kept, and shared trunks.

Slots are given in order of arrival, lowest first; a conversation keeps its slot between turns and loses
it (not its ids) when somebody in line needs it. When nobody is left, everything is as on the first day,
so that what comes next does not depend on what was before.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_worker.engines.embedded.sampler import Fill, Sampler
from gpu_worker.engines.embedded.stream import TurnText
from gpu_worker.types import Sampling

FULL = 0.9
"""Share of the slots up to the highest that must be in use: a step reads them all."""
WORTH_SHARING = 32
"""Prompts that agree on fewer ids than this do not share them."""


@dataclass(eq=False)
class Turn:
    """One chat call. `known` are the ids to sample on from: the prompt, after an adapter swap also what
    had been drawn by then. `limit` bounds prompt and answer together."""

    prompt: list[int]
    sampling: Sampling
    limit: int
    conversation: str
    done: asyncio.Future[None]
    text: TurnText | None
    known: list[int]
    logprobs: list[float] = field(default_factory=list)
    slot: int = -1

    @property
    def tokens(self) -> list[int]:
        return self.known[len(self.prompt) :]


@dataclass(eq=False)
class Trunk:
    """Ids kept once for all the slots in `users`. A stale one, of earlier weights, gets no more users."""

    number: int
    ids: list[int]
    users: set[int] = field(default_factory=set)
    stale: bool = False


class Seats:
    def __init__(self, sampler: Sampler, slots: int) -> None:
        self.sampler = sampler
        self.slots = slots
        self.waiting: list[Turn] = []
        self.seated: dict[int, Turn] = {}
        self.kept: dict[str, int] = {}
        self.free = list(range(slots))
        self.trunks: list[Trunk] = []

    @property
    def occupied(self) -> bool:
        return bool(self.waiting or self.seated)

    def watched(self) -> list[tuple[Turn, TurnText]]:
        """The turns whose text is looked at while it is being sampled."""
        return [(turn, turn.text) for turn in self.seated.values() if turn.text is not None]

    def join(self, turn: Turn) -> None:
        """Put a turn in line. A conversation has one turn at a time: ValueError otherwise."""
        others = (*self.waiting, *self.seated.values())
        if turn.conversation and any(turn.conversation == other.conversation for other in others):
            raise ValueError(f"Conversation {turn.conversation!r} is already being answered.")
        self.waiting.append(turn)

    def leave(self, turn: Turn) -> None:
        """Take a turn out that nobody waits for any more, with the KV it was making."""
        if turn in self.waiting:
            self.waiting.remove(turn)
        elif self.seated.get(turn.slot) is turn:
            del self.seated[turn.slot]
            self.kept.pop(turn.conversation, None)
            self._give_back(turn.slot)

    def finish(self, turn: Turn) -> None:
        """Hand the turn its ids; a named conversation keeps the slot."""
        self._collect(turn)
        del self.seated[turn.slot]
        if self.kept.get(turn.conversation) == turn.slot:
            self.kept[turn.conversation] = self.kept.pop(turn.conversation)
        else:
            self._give_back(turn.slot)
        if not turn.done.done():
            turn.done.set_result(None)

    def forget(self, conversation: str) -> None:
        slot = self.kept.pop(conversation, None)
        if slot is not None and slot not in self.seated:
            self._give_back(slot)

    def start_over(self) -> None:
        """Nothing computed so far is valid any more: those seated go back to the head of the line."""
        interrupted = list(self.seated.values())
        for turn in interrupted:
            self._collect(turn)
        self.waiting = interrupted + self.waiting
        self.seated, self.kept, self.trunks = {}, {}, []
        self.free = list(range(self.slots))

    def weights_changed(self) -> None:
        """Those who sit here go on with what they have; nobody else is given what they share."""
        for trunk in self.trunks:
            trunk.stale = True

    def refuse(self, turn: Turn, error: Exception) -> None:
        """End one turn with an error."""
        self.leave(turn)
        if not turn.done.done():
            turn.done.set_exception(error)

    def fail(self, error: Exception) -> None:
        """Tell everybody that no answer will come, and start with empty seats."""
        turns = (*self.waiting, *self.seated.values())
        self.waiting, self.seated = [], {}
        self.start_over()
        for turn in turns:
            if not turn.done.done():
                turn.done.set_exception(error)

    def admit(self) -> list[Fill]:
        """Seat whoever can be seated; returns what has to be computed before they can be sampled."""
        newcomers: list[Turn] = []
        returning: list[Turn] = []
        for turn in list(self.waiting):
            back = turn.conversation in self.kept
            slot = self.kept[turn.conversation] if back else self._take_slot()
            if slot is None:
                continue
            self._sit(turn, slot)
            (returning if back else newcomers).append(turn)
        fills = [self._resume(turn) for turn in returning]
        return fills + self._begin(newcomers)

    def close_ranks(self) -> None:
        """When many slots up to the highest are empty, move the highest rows into the lowest free slots."""
        if len(self.seated) > FULL * max(self.seated, default=0):
            return
        for slot in sorted(self.seated, reverse=True):
            if self.free and self.free[0] < slot:
                self._move(slot, heapq.heappop(self.free))

    def _move(self, slot: int, target: int) -> None:
        self.sampler.move(slot, target)
        turn = self.seated[target] = self.seated.pop(slot)
        turn.slot = target
        if self.kept.get(turn.conversation) == slot:
            self.kept[turn.conversation] = target
        for trunk in self.trunks:
            if slot in trunk.users:
                trunk.users.add(target)
        self._give_back(slot)

    def _sit(self, turn: Turn, slot: int) -> None:
        turn.slot = slot
        self.waiting.remove(turn)
        self.seated[slot] = turn
        if turn.conversation:
            self.kept[turn.conversation] = slot

    def _take_slot(self) -> int | None:
        """The lowest free slot, or that of the conversation that has been idle for the longest time."""
        if not self.free:
            coming = {turn.conversation for turn in self.waiting}
            for conversation, slot in self.kept.items():
                if slot not in self.seated and conversation not in coming:
                    self.forget(conversation)
                    break
        return heapq.heappop(self.free) if self.free else None

    def _give_back(self, slot: int) -> None:
        heapq.heappush(self.free, slot)
        for trunk in self.trunks:
            trunk.users.discard(slot)
        self.trunks = [trunk for trunk in self.trunks if trunk.users]

    def _collect(self, turn: Turn) -> None:
        """Take over what the sampler has drawn for a turn."""
        length = int(self.sampler.length_S[turn.slot])
        drawn = slice(len(turn.known), length)
        turn.logprobs += self.sampler.logprobs_SX[turn.slot, drawn].tolist()
        turn.known += self.sampler.ids_SX[turn.slot, drawn].tolist()

    def _resume(self, turn: Turn) -> Fill:
        """Go on from the KV that the slot has and the new prompt begins with."""
        same = min(self.sampler.same_ids(turn.slot, turn.known), len(turn.known) - 1)
        self.sampler.put(turn.slot, turn.known, turn.sampling, turn.limit)
        self.sampler.shorten_trunk(turn.slot, same)
        return Fill(turn.slot, same)

    def _begin(self, newcomers: Sequence[Turn]) -> list[Fill]:
        """Prompts seen for the first time: what they share is computed once, and so are equal prompts."""
        trunk_of = self._trunks_for(newcomers)
        alike: dict[tuple[int, ...], list[Turn]] = {}
        for turn in newcomers:
            self.sampler.put(turn.slot, turn.known, turn.sampling, turn.limit)
            trunk, length = trunk_of[turn]
            self.sampler.see_trunk(turn.slot, trunk.number if trunk else 0, length)
            if trunk:
                trunk.users.add(turn.slot)
            alike.setdefault(tuple(turn.known), []).append(turn)
        return [
            Fill(first.slot, trunk_of[first][1], tuple(turn.slot for turn in others))
            for first, *others in alike.values()
        ]

    def _trunks_for(self, newcomers: Sequence[Turn]) -> dict[Turn, tuple[Trunk | None, int]]:
        """The trunk each newcomer uses and how much of it; new trunks are made for those that start alike."""
        found = {turn: self._best_trunk(turn.known) for turn in newcomers}
        lonely: dict[tuple[int, ...], list[Turn]] = {}
        for turn in newcomers:
            if found[turn][0] is None:
                lonely.setdefault(tuple(turn.known[:WORTH_SHARING]), []).append(turn)
        for turns in lonely.values():
            ids = _common([turn.known[:-1] for turn in turns])
            if len(turns) > 1 and len(ids) >= WORTH_SHARING:
                trunk = self._plant(ids)
                found.update((turn, (trunk, len(ids))) for turn in turns)
        return found

    def _plant(self, ids: list[int]) -> Trunk:
        """A new trunk. There is room for as many as there are slots, so one is always free."""
        taken = {trunk.number for trunk in self.trunks}
        trunk = Trunk(next(number for number in range(self.slots) if number not in taken), ids)
        self.sampler.plant(ids, trunk.number)
        self.trunks.append(trunk)
        return trunk

    def _best_trunk(self, ids: list[int]) -> tuple[Trunk | None, int]:
        """The trunk that `ids` begin with for longest, if that is worth it, and for how long."""
        shared = [(len(_common([trunk.ids, ids[:-1]])), trunk) for trunk in self.trunks if not trunk.stale]
        length, trunk = max(shared, key=lambda pair: pair[0], default=(0, None))
        enough = length >= max(WORTH_SHARING, len(ids) // 2)
        return (trunk, length) if enough else (None, 0)


def _common(lists: Sequence[list[int]]) -> list[int]:
    """The longest beginning that all lists share: that of the least and the greatest of them."""
    least, greatest = min(lists), max(lists)
    for index, (one, other) in enumerate(zip(least, greatest, strict=False)):
        if one != other:
            return least[:index]
    return least
