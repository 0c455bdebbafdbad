"""The embedded engine: many conversations at once on one torch thread, without a server.

`chat` puts a request in line; one pump admits requests in the order of their arrival, whenever every
coroutine that could run has had its turn, and decodes one token for all of them. There is no clock in
it: the same calls give the same batches. Which slot and which part of the trunk a conversation has is
decided in `seats.py`, the arithmetic is done in `sampler.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from gpu_worker.engines.embedded.adapter import Swappable
from gpu_worker.engines.embedded.calls import read_calls
from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.engines.embedded.directory import ModelError, locate
from gpu_worker.engines.embedded.sampler import Sampler
from gpu_worker.engines.embedded.seats import Seats, Turn
from gpu_worker.engines.embedded.stream import TurnText
from gpu_worker.types import Completion, Message, Sampling, ToolSpec

YIELDS = 3
"""How often the pump lets the others run before a step: a rollout may await through a few layers."""

PAUSE = 0.002
"""Seconds between two matrices that are laid out while turns are under way."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Coming:
    """Weights that were adopted while turns were under way, and the thread that lays them out."""

    weights: Mapping[str, Tensor]
    laying_out: Future[Callable[[], None]]


class EmbeddedEngine:
    """types.Engine on torch. Raises ModelError when the model cannot be used.

    With dtype "bfloat16" a part of the matrix products is computed in it (`network.py` says which).
    """

    def __init__(
        self,
        model: str | Path,
        *,
        slots: int = 160,
        max_context: int = 1024,
        dtype: Literal["float32", "bfloat16"] = "float32",
        device: str = "cpu",
    ) -> None:
        directory = locate(model)
        self.chat_form = Chat(directory)
        decoder = Decoder.load(directory).to(device)
        if self.chat_form.size > decoder.shape.vocab:
            raise ModelError(f"The tokenizer in {directory} has more ids than the model knows.")
        self.max_context = min(max_context, decoder.shape.max_positions)
        self.weights = Swappable(decoder)
        self.sampler = Sampler(decoder, slots, self.max_context, DTYPES[dtype])
        self.seats = Seats(self.sampler, slots)
        self.ends = torch.tensor(sorted(self.chat_form.ends), device=device)
        self._pump: asyncio.Task[None] | None = None
        self._beside = ThreadPoolExecutor(1, "weights", initializer=torch.set_num_threads, initargs=(1,))
        self._coming: Coming | None = None

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        sampling: Sampling,
        *,
        conversation: str = "",
        seen: Sequence[int] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        prompt = self.chat_form.prompt_ids(messages, tools, seen)
        limit = min(len(prompt) + sampling.max_tokens, self.max_context)
        watched = on_text is not None or any(sampling.stop)
        text = TurnText(sampling.stop, on_text, self.chat_form.stream()) if watched else None
        done = asyncio.get_running_loop().create_future()
        turn = Turn(prompt, sampling, limit, conversation, done, text, known=list(prompt))
        if limit > len(prompt):
            await self._sampled(turn)
        return self._completion(turn)

    async def _sampled(self, turn: Turn) -> None:
        self.seats.join(turn)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._run())
        try:
            await turn.done
        finally:
            self.seats.leave(turn)

    def release(self, conversation: str) -> None:
        self.seats.forget(conversation)

    def use_adapter(self, directory: Path | None) -> None:
        self.weights.use(directory)
        self._coming = None
        self.sampler.network.settle()
        self.seats.start_over()

    def adopt(self, weights: Mapping[str, Tensor]) -> None:
        """Raises ModelError, with the weights as they were, when a name or shape is not the model's.

        While turns are under way a thread lays the weights out beside them, and they are swapped in
        between two tokens when it is done. With nobody there they are in use on return.
        """
        self.weights.check(weights)
        pause = PAUSE if self.seats.occupied else 0.0
        prepared, lookup = self.sampler.network.prepared, self.weights.lookup(weights)
        laying_out = self._beside.submit(prepared, lookup, pause)
        self._coming = Coming(weights, laying_out)
        if not self.seats.occupied:
            self._swap_in()

    def _swap_in(self) -> None:
        """Use the weights that are coming; waits until they are laid out."""
        assert self._coming is not None
        coming, self._coming = self._coming, None
        use = coming.laying_out.result()
        self.weights.adopt(coming.weights)
        use()
        self.seats.weights_changed()

    async def _run(self) -> None:
        """Step until nobody waits; an error in a step goes to everybody who waits for its outcome."""
        while self.seats.occupied:
            for _ in range(YIELDS):
                await asyncio.sleep(0)
            try:
                self._step()
            except Exception as error:
                self.seats.fail(error)

    def _step(self) -> None:
        """Draw one more id for everybody: those seated by decoding, those who come in by prefill."""
        if self._coming and (self._coming.laying_out.done() or not self.seats.seated):
            self._swap_in()
        if self.seats.seated:
            self.seats.close_ranks()
            self.sampler.decode(sorted(self.seats.seated))
        fills = self.seats.admit()
        if fills:
            self.sampler.prefill(fills)
        if self.seats.seated:
            self._finish_turns(sorted(self.seats.seated))

    def _finish_turns(self, slots: list[int]) -> None:
        newest = self.sampler.newest(slots)
        ended = torch.isin(newest, self.ends)
        over_R = (ended | self.sampler.full(slots)).tolist()
        over = {slot for slot, is_over in zip(slots, over_R, strict=True) if is_over}
        for turn, text in self.seats.watched():
            token = int(self.sampler.newest([turn.slot]))
            try:
                if token not in self.chat_form.ends and text.add(token):
                    over.add(turn.slot)
            except Exception as error:  # from the caller's on_text: no other turn may suffer from it
                over.discard(turn.slot)
                self.seats.refuse(turn, error)
        for slot in sorted(over):
            self.seats.finish(self.seats.seated[slot])

    def _completion(self, turn: Turn) -> Completion:
        tokens = turn.tokens
        ended = bool(tokens) and tokens[-1] in self.chat_form.ends
        stopped = turn.text is not None and turn.text.stopped
        said = (
            turn.text.text if turn.text and stopped else self.chat_form.decode(tokens[: len(tokens) - ended])
        )
        reading = read_calls(said, f"call_{len(turn.prompt)}")
        if turn.text is not None and reading.problem is None:
            turn.text.finish(reading.content)
        return Completion(
            text=reading.content,
            tool_calls=reading.calls,
            prompt_ids=tuple(turn.prompt),
            token_ids=tuple(tokens),
            logprobs=tuple(turn.logprobs),
            finish="stop" if ended or stopped else _cut(turn),
            problem=reading.problem,
        )


def _cut(turn: Turn) -> Literal["length", "context"]:
    return "length" if len(turn.tokens) >= turn.sampling.max_tokens else "context"
