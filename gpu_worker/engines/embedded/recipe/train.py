"""The training of the embedded model: copy warm-up, then dialogues, with a log and a state to go on from.

One optimizer for matrices (Muon) and one for the rest (AdamW). Same seed, same machine, same weights.
Shapes: B rows, T tokens, V vocabulary.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.engines.embedded.recipe.batches import (
    CARELESS_DESKS,
    CARELESS_REGISTERS,
    DESKS,
    FREE_REGISTERS,
    REGISTERS,
    TokenBatch,
    copy_batch,
    dialogue_batch,
)
from gpu_worker.engines.embedded.recipe.dialogues import write_dialogue
from gpu_worker.engines.embedded.recipe.network import SIZES, config_of, new_network
from gpu_worker.engines.embedded.recipe.tokenizer import (
    END_OF_TEXT,
    END_OF_TURN,
    VOCABULARY,
    rendered,
    save_tokenizer,
    train_tokenizer,
    with_letters,
)

TOKENIZER_DIALOGUES = 6000
LOG_EVERY = 10
SAVE_EVERY = 200


@dataclass(frozen=True)
class Plan:
    """Everything the result depends on."""

    size: str = "demo"
    seed: int = 0
    steps: int = 1700
    copy_steps: int = 100
    careful_share: float = 0.65
    """Share of the dialogue steps whose demonstrator makes no mistakes; the careless ones come last."""
    rows: int = 32
    vocabulary: int = VOCABULARY
    matrix_rate: float = 8e-3
    other_rate: float = 3e-3

    start: str = ""
    """Directory of the model that a later stage goes on from; empty trains the first stage."""
    falling_share: float = 0.5
    """Share of a later stage's dialogue steps during which the learning rates fall."""
    free_from: int = 0
    """Step from which on a later stage asks freely."""
    bf16: bool = False
    """Multiply in bfloat16."""

    def careful(self, step: int) -> bool:
        """Whether the dialogues of a step are those of a demonstrator without mistakes."""
        return step - self.copy_steps < self.careful_share * self.steps

    def rate(self, step: int) -> float:
        """Share of the peak learning rates: up over 20 steps; in the first stage a cosine down to 3 %.

        In later ones it stays up and then falls in a line to 3 %, so that a training stopped while it is up
        and begun again with fewer steps repeats what it has done.
        """
        if self.start:
            left = self.copy_steps + self.steps - step
            down = min(1.0, left / max(1, self.falling_share * self.steps))
            return min(1.0, (step + 1) / 20) * (0.03 + 0.97 * down)
        done = step / max(1, self.copy_steps + self.steps)
        return min(1.0, (step + 1) / 20) * (0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * done)))


LATER_STAGES: dict[str, dict[str, Any]] = {
    "second": {
        "copy_steps": 60,
        "careful_share": 0.82,
        "falling_share": 0.38,
        "free_from": 2000,
        "rows": 24,
        "matrix_rate": 4e-3,
        "other_rate": 1.5e-3,
    },
    "third": {
        "copy_steps": 20,
        "careful_share": 0.72,
        "falling_share": 0.85,
        "rows": 24,
        "matrix_rate": 3e-3,
        "other_rate": 1.1e-3,
    },
}
"""What the plans of the later stages have otherwise than the first."""


class Training:
    """A network, its optimizers and how far they are."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.plan, self.directory = plan, directory
        self.tokenizer = tokenizer_of(plan)
        save_tokenizer(self.tokenizer, directory)
        vocabulary = self.tokenizer.get_vocab()
        config = config_of(
            SIZES[plan.size], len(vocabulary), vocabulary[END_OF_TURN], vocabulary[END_OF_TEXT]
        )
        self.network = new_network(directory, config, plan.seed)
        if plan.start:
            go_on_from(Path(plan.start), self.network)
        self.optimizers = _optimizers(self.network, plan)
        self.step = 0
        self.tokens = 0
        self.seconds = 0.0
        self.curve: list[dict[str, float]] = []
        self._resume()

    def run(self, tell: Callable[[dict[str, float]], None]) -> None:
        """Train to the end of the plan; `tell` hears of every logged step."""
        while self.step < self.plan.copy_steps + self.plan.steps:
            started = time.monotonic()
            loss, accuracy, tokens = self._learn(self._batch())
            self.seconds += time.monotonic() - started
            self.tokens += tokens
            if self.step % LOG_EVERY == 0:
                self.curve.append(
                    {
                        "step": self.step,
                        "loss": round(loss, 4),
                        "accuracy": round(accuracy, 4),
                        "tokens": self.tokens,
                        "seconds": round(self.seconds, 1),
                    }
                )
                tell(self.curve[-1])
            self.step += 1
            if self.step % SAVE_EVERY == 0:
                self._save_state()
        self.save_weights()

    def _batch(self) -> TokenBatch:
        plan = self.plan
        if self.step < plan.copy_steps:
            return copy_batch(self.tokenizer, plan.seed, self.step, plan.rows)
        careful, careless = (REGISTERS, CARELESS_REGISTERS) if plan.start else (DESKS, CARELESS_DESKS)
        if plan.start and self.step >= plan.free_from:
            careful = FREE_REGISTERS
        lesson = careful if plan.careful(self.step) else careless
        return dialogue_batch(self.tokenizer, plan.seed, self.step - plan.copy_steps, plan.rows, lesson)

    def _learn(self, batch: TokenBatch) -> tuple[float, float, int]:
        """One update; the loss, the share of tokens guessed right, and the tokens read."""
        for optimizer, peak in zip(
            self.optimizers, (self.plan.matrix_rate, self.plan.other_rate), strict=True
        ):
            optimizer.param_groups[0]["lr"] = peak * self.plan.rate(self.step)
            optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.plan.bf16):
            logits_NV, targets_N = predictions(self.network, batch)
        loss = F.cross_entropy(logits_NV.float(), targets_N)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        accuracy = (logits_NV.argmax(-1) == targets_N).float().mean()
        return loss.item(), accuracy.item(), batch.ids_BT.numel()

    def save_weights(self) -> None:
        weights = {name: tensor.detach().contiguous() for name, tensor in self.network.state_dict().items()}
        save_file(weights, self.directory / "model.safetensors", metadata={"format": "pt"})

    def _save_state(self) -> None:
        """Weights, optimizers and counters, so that an interrupted training goes on."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        for number, optimizer in enumerate(self.optimizers):
            for at, state in optimizer.state_dict()["state"].items():
                tensors |= {f"{number}.{at}.{key}": value for key, value in state.items()}
        save_file({name: t.detach().contiguous() for name, t in tensors.items()}, self._state_file("new"))
        progress = {"step": self.step, "tokens": self.tokens, "seconds": self.seconds, "curve": self.curve}
        counters = {**progress, "plan": asdict(self.plan)}
        self._state_file("json").write_text(json.dumps(counters), encoding="utf-8")
        self._state_file("new").replace(self._state_file("safetensors"))

    def _resume(self) -> None:
        if not self._state_file("safetensors").exists():
            return
        counters = json.loads(self._state_file("json").read_text(encoding="utf-8"))
        if counters.pop("plan") != asdict(self.plan):
            return
        tensors = load_file(self._state_file("safetensors"))
        self.network.load_state_dict(
            {name.removeprefix("network."): t for name, t in tensors.items() if name.startswith("network.")}
        )
        for number, optimizer in enumerate(self.optimizers):
            saved: dict[int, dict[str, Tensor]] = {}
            for name, tensor in tensors.items():
                owner, at, key = name.split(".", 2)
                if owner == str(number):
                    saved.setdefault(int(at), {})[key] = tensor
            optimizer.load_state_dict({**optimizer.state_dict(), "state": saved})
        self.step, self.tokens = counters["step"], counters["tokens"]
        self.seconds, self.curve = counters["seconds"], counters["curve"]

    def _state_file(self, ending: str) -> Path:
        return self.directory / f"training-state.{ending}"


def go_on_from(directory: Path, network: Decoder) -> None:
    """Take over the weights of a trained model; tokens it did not have keep their new embedding."""
    weights = load_file(directory / "model.safetensors")
    embedding = network.state_dict()["model.embed_tokens.weight"].clone()
    known = weights["model.embed_tokens.weight"]
    spread = known.std() / embedding[len(known) :].std() if len(embedding) > len(known) else 1.0
    embedding *= spread
    embedding[: len(known)] = known
    network.load_state_dict({**weights, "model.embed_tokens.weight": embedding})


def tokenizer_of(plan: Plan) -> Tokenizer:
    """The tokenizer follows from the seed like everything else; the second stage adds letters to it."""
    if plan.start:
        return with_letters(Tokenizer.from_file(str(Path(plan.start) / "tokenizer.json")))
    rng = random.Random(f"tokenizer {plan.seed}")
    return train_tokenizer(
        (rendered(write_dialogue(rng)) for _ in range(TOKENIZER_DIALOGUES)), plan.vocabulary
    )


def _optimizers(network: Decoder, plan: Plan) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    """Muon for the layers' matrices; AdamW for the embedding, norms and biases."""
    matrices = [p for name, p in network.named_parameters() if p.ndim == 2 and "embed_tokens" not in name]
    known = {id(p) for p in matrices}
    others = [p for p in network.parameters() if id(p) not in known]
    return (
        torch.optim.Muon(matrices, lr=plan.matrix_rate, weight_decay=0.0),
        torch.optim.AdamW(others, lr=plan.other_rate, betas=(0.9, 0.98), weight_decay=0.0),
    )


def predictions(network: Decoder, batch: TokenBatch) -> tuple[Tensor, Tensor]:
    """Logits and targets of the tokens that are to be learned, in reading order."""
    inputs_BT, wanted_BT = batch.ids_BT[:, :-1], batch.learn_BT[:, 1:]
    positions_BT = torch.arange(inputs_BT.shape[1]).expand_as(inputs_BT)
    hidden_NC = network(inputs_BT, positions_BT, causal)[wanted_BT]
    return network.logits(hidden_NC), batch.ids_BT[:, 1:][wanted_BT]


def describe(training: Training) -> dict[str, Any]:
    """What a model card needs to say about how the weights came to be."""
    return {
        "plan": asdict(training.plan),
        "parameters": sum(p.numel() for p in training.network.parameters()),
        "tokens": training.tokens,
        "seconds": round(training.seconds),
        "curve": training.curve,
    }
