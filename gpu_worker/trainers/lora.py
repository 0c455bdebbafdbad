"""Learns LoRA matrices on a decoder with torch on the CPU: the loss, one optimizer, files as PEFT has them.

Every number follows from the batch, the seed and the weights: micro-batches are computed in threads but
their gradients are added in a fixed order, so neither timing nor the number of cores changes a bit.
Which tries are learned from, and their advantages, is decided by the loop.

Shapes: T sampled tokens of a micro-batch, M different ones among them.
"""

import json
import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from gpu_worker.algorithms import clip_bounds
from gpu_worker.checkpoints import WEIGHTS, write_bytes
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.grpo import cispo, kl_to_base
from gpu_worker.packing import Line, Pack, attention_over, packs, token_logprobs
from gpu_worker.seeds import seed_for
from gpu_worker.trainers.low_rank import LowRankLinear
from gpu_worker.types import Batch, Group, Job

TOKEN_BUDGET = 1536
"""Nodes of a micro-batch: large enough to keep a core busy, small enough for a laptop's memory."""
BETAS = (0.9, 0.99)
PREFIX = "base_model.model."
"""What PEFT's files put before the names of a model's modules."""
CONFIG = "adapter_config.json"
OPTIMIZER = "optimizer.safetensors"
RANDOM = "random.safetensors"


@dataclass(frozen=True)
class Learned:
    """What one micro-batch contributes. Sums are over its sampled tokens; kl is None where not measured."""

    gradients: tuple[Tensor, ...]
    loss: float
    tokens: int
    nodes: int
    entropy: float
    clipped: int
    ratio_T: Tensor
    kl: float | None


class LoraTrainer:
    """Implements types.Trainer. `workers` threads compute micro-batches; their number changes no result."""

    def __init__(self, model: str | Path, job: Job, *, workers: int | None = None) -> None:
        torch.set_num_threads(1)  # more threads spin against each other and change sums in the last bit
        self.job = job
        self.workers = workers or min(2, len(os.sched_getaffinity(0)))
        self.base = Decoder.load(model)
        self.policy = Decoder(self.base.shape)
        self.policy.load_state_dict(self.base.state_dict(), assign=True)
        self.policy.requires_grad_(False)
        self.layers = _inject(self.policy, job)
        self.adapter = {name: p for name, p in self.policy.named_parameters() if p.requires_grad}
        self.config = _peft_config(str(model), job, self.layers)
        self.optimizer = torch.optim.AdamW(
            self.adapter.values(), lr=job.learning_rate, betas=BETAS, weight_decay=job.weight_decay
        )
        self.random = torch.Generator().manual_seed(seed_for(job.seed, "trainer"))

    def update(self, batch: Batch) -> dict[str, float]:
        """One training step of job.optimizer_steps weight updates, each on its share of the groups.

        An update whose loss or gradient is not finite is left out and counted as `skipped`.
        """
        pairs = list(zip(batch.groups, batch.advantages, strict=True))
        count = max(1, min(self.job.optimizer_steps, len(pairs)))
        shares = [pairs[len(pairs) * i // count : len(pairs) * (i + 1) // count] for i in range(count)]
        made = [self._update_on(_lines(share), batch.learning_rate) for share in shares]
        return _joined(made)

    def _update_on(self, lines: Sequence[Line], learning_rate: float) -> dict[str, float]:
        micro_batches = packs(lines, TOKEN_BUDGET)
        tokens = sum(len(pack.row_T) for pack in micro_batches)
        if not tokens:
            return {"tokens": 0.0, "nodes": 0.0, "skipped": 1.0}
        looked_at = int(torch.randint(len(micro_batches), (), generator=self.random))
        with ThreadPoolExecutor(self.workers) as pool:
            learned = list(
                pool.map(
                    lambda at: self._learn(micro_batches[at], tokens, show_kl=at == looked_at),
                    range(len(micro_batches)),
                )
            )
        loss = sum(part.loss for part in learned)
        norm = self._set_gradients(learned)
        finite = math.isfinite(loss) and math.isfinite(norm)
        if finite:
            self._step(learning_rate)
        self.optimizer.zero_grad()
        shown = _metrics(learned, tokens) | {"loss": loss, "grad_norm": norm, "skipped": float(not finite)}
        return {key: value if math.isfinite(value) else 0.0 for key, value in shown.items()}

    def _learn(self, pack: Pack, tokens: int, *, show_kl: bool) -> Learned:
        """Forward and backward over one micro-batch; `tokens` are those of the whole batch."""
        job = self.job
        logprobs_M, entropy_M = _logprobs(self.policy, pack)
        logprobs_T = logprobs_M[pack.row_T]
        low, high = clip_bounds(job)
        token_loss = cispo(logprobs_T, pack.old_logprobs_T, pack.advantages_T, clip_low=low, clip_high=high)
        loss = token_loss.loss_T.sum() / tokens
        kl_T = None
        if job.kl_coefficient > 0 or show_kl:
            with torch.no_grad():
                base_T = _logprobs(self.base, pack)[0][pack.row_T]
            kl_T = kl_to_base(logprobs_T, base_T)
            loss = loss + job.kl_coefficient * kl_T.sum() / tokens
        gradients = torch.autograd.grad(loss, list(self.adapter.values()))
        return Learned(
            gradients=gradients,
            loss=loss.item(),
            tokens=len(pack.row_T),
            nodes=len(pack.ids_N),
            entropy=entropy_M[pack.row_T].sum().item(),
            clipped=int(token_loss.clipped_T.sum()),
            ratio_T=token_loss.ratio_T,
            kl=None if kl_T is None else kl_T.sum().item(),
        )

    def _set_gradients(self, learned: Sequence[Learned]) -> float:
        """Add up the gradients, always in the same order, and clip; returns their norm before."""
        for parameter, *parts in zip(self.adapter.values(), *(p.gradients for p in learned), strict=True):
            parameter.grad = parts[0].clone()
            for part in parts[1:]:
                parameter.grad += part
        return float(nn.utils.clip_grad_norm_(self.adapter.values(), self.job.max_grad_norm))

    def _step(self, learning_rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self._merge()

    def _merge(self) -> None:
        for layer in self.layers.values():
            layer.merge()

    def weights(self) -> dict[str, Tensor]:
        """The merged weights of all adapted layers, fp32, by parameter name; an update makes new ones."""
        return {f"{name}.weight": layer.merged_OI for name, layer in self.layers.items()}

    def save(self, directory: Path) -> None:
        """Adapter in PEFT's own files, AdamW's moments and the random state; safetensors and JSON only."""
        weights = {_peft_name(name): p.detach() for name, p in self.adapter.items()}
        write_bytes(directory / WEIGHTS, save(weights, {"format": "pt"}))
        write_bytes(directory / CONFIG, (json.dumps(self.config, indent=2) + "\n").encode())
        moments = {
            f"{key}/{name}": value
            for name, parameter in self.adapter.items()
            for key, value in self.optimizer.state[parameter].items()
        }
        write_bytes(directory / OPTIMIZER, save(moments))
        write_bytes(directory / RANDOM, save({"trainer": self.random.get_state()}))

    def load(self, directory: Path) -> None:
        """Take up exactly where `save` left off. The caller has verified the files."""
        weights, moments = load_file(directory / WEIGHTS), load_file(directory / OPTIMIZER)
        with torch.no_grad():
            for name, parameter in self.adapter.items():
                parameter.copy_(weights[_peft_name(name)])
        self._merge()
        self.optimizer.state.clear()
        for key, value in moments.items():
            what, _, name = key.partition("/")
            self.optimizer.state[self.adapter[name]][what] = value.clone()
        self.random.set_state(load_file(directory / RANDOM)["trainer"])


def _inject(decoder: Decoder, job: Job) -> dict[str, LowRankLinear]:
    """LoRA on every linear layer of the decoder, by name; neither on the embedding nor on the head."""
    generator = torch.Generator().manual_seed(seed_for(job.seed, "lora"))
    found = {name: module for name, module in decoder.named_modules() if isinstance(module, nn.Linear)}
    found.pop("lm_head", None)
    layers = {}
    for name, module in found.items():
        parent, _, own = name.rpartition(".")
        layers[name] = LowRankLinear(module, job.lora_rank, job.lora_alpha / job.lora_rank, generator)
        setattr(decoder.get_submodule(parent), own, layers[name])
    return layers


def _peft_config(model: str, job: Job, layers: Iterable[str]) -> dict[str, Any]:
    """adapter_config.json as PEFT and vLLM read it."""
    alpha = int(job.lora_alpha) if job.lora_alpha == int(job.lora_alpha) else job.lora_alpha
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": model,
        "r": job.lora_rank,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "target_modules": sorted({name.rpartition(".")[2] for name in layers}),
        "bias": "none",
        "fan_in_fan_out": False,
        "use_rslora": False,
        "use_dora": False,
        "modules_to_save": None,
        "inference_mode": True,
    }


def _peft_name(name: str) -> str:
    return f"{PREFIX}{name}.weight"


def _lines(pairs: Sequence[tuple[Group, Sequence[float]]]) -> list[Line]:
    """Every segment of every try with the advantage of the try."""
    return [
        (segment, advantage)
        for group, advantages in pairs
        for trajectory, advantage in zip(group.trajectories, advantages, strict=True)
        for segment in trajectory.segments
    ]


def _logprobs(decoder: Decoder, pack: Pack) -> tuple[Tensor, Tensor]:
    """Log-probability and entropy [M] of a pack's sampled nodes."""
    hidden_NC = decoder(pack.ids_N, pack.positions_N, attention_over(pack.edges))
    tied = decoder.shape.tied
    head_VC = decoder.model.embed_tokens.weight if tied else decoder.lm_head.weight
    return token_logprobs(hidden_NC[pack.predictors_M], head_VC, pack.targets_M)


def _metrics(learned: Sequence[Learned], tokens: int) -> dict[str, float]:
    """Token means of what is shown; KL over the micro-batches in which it was measured."""
    measured = [(part.kl, part.tokens) for part in learned if part.kl is not None]
    return {
        "entropy": sum(part.entropy for part in learned) / tokens,
        "clip_fraction": sum(part.clipped for part in learned) / tokens,
        **_spread(torch.cat([part.ratio_T for part in learned])),
        "kl": sum(kl for kl, _ in measured) / sum(count for _, count in measured),
        "tokens": float(tokens),
        "nodes": float(sum(part.nodes for part in learned)),
    }


def _spread(ratio_T: Tensor) -> dict[str, float]:
    """Percentiles of the importance ratios (the nearest one below) and the largest."""
    sorted_T = ratio_T.sort().values
    last = len(sorted_T) - 1
    shares = {"ratio_p01": 0.01, "ratio_p50": 0.5, "ratio_p99": 0.99, "ratio_max": 1.0}
    return {name: sorted_T[int(share * last)].item() for name, share in shares.items()}


def _joined(updates: Sequence[dict[str, float]]) -> dict[str, float]:
    """One step's numbers from those of its weight updates: sums of counts, the largest ratio, else means."""
    keys = {key for update in updates for key in update}
    values = {key: [update[key] for update in updates if key in update] for key in sorted(keys)}
    joined = {key: sum(v) / len(v) for key, v in values.items()}
    joined |= {key: sum(values[key]) for key in ("tokens", "nodes", "skipped")}
    return joined | {key: max(values[key]) for key in ("ratio_max",) if key in values}
