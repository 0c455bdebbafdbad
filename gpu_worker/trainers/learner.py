"""One training step on any trainable decoder: micro-batches, the loss, gradients, AdamW.

Every number follows from the batch, the seed and the weights: micro-batches are computed in threads but
their gradients are added in a fixed order, so neither timing nor the number of cores changes a bit.
Which parameters learn and what their files are is said in `lora.py` and `full.py`; which tries are
learned from, and their advantages, is decided by the loop.

Shapes: T sampled tokens of a micro-batch, M different ones among them.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from gpu_worker.algorithms import clip_bounds, refusal
from gpu_worker.checkpoints import write_bytes
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.grpo import TokenLoss, cispo, correction, gspo, kl_to_base, less_kl, mean_weights, ppo
from gpu_worker.packing import SMALL, Line, Pack, attention_over, packs, token_logprobs
from gpu_worker.seeds import seed_for
from gpu_worker.trainers import norm, recompute
from gpu_worker.trainers.figures import Learned, joined, metrics
from gpu_worker.types import Batch, Group, Job

TOKEN_BUDGET = 1536
"""Nodes of a micro-batch: large enough to keep a core busy, small enough for a laptop's memory."""
BETAS = (0.9, 0.99)
SHOWN = 16
"""Where KL to the base is only shown, it is measured on one try in so many, and at least on one."""
NOTHING_SAID = {"tokens": 0.0, "nodes": 0.0, "skipped": 1.0}
"""What is shown of an update where nobody had said a word."""
OPTIMIZER = "optimizer.safetensors"
RANDOM = "random.safetensors"


@dataclass(frozen=True)
class Lesson:
    """A micro-batch and what is known of it before learning begins; None where it was not asked for."""

    pack: Pack
    base_T: Tensor | None = None
    """Log-probabilities of the base model, of all sampled tokens or of those named in base_at."""
    base_at: Tensor | None = None
    few: Pack | None = None
    """The tries of base_at alone: the base is asked about them where the micro-batch is learned."""
    proximal_T: Tensor | None = None
    """Log-probabilities of the policy before the step's first update; None means those of now."""

    def kl(self, logprobs_T: Tensor) -> Tensor | None:
        """KL to the base of each token where the base is known, if it is anywhere."""
        if self.base_T is None:
            return None
        return kl_to_base(logprobs_T if self.base_at is None else logprobs_T[self.base_at], self.base_T)


@dataclass(frozen=True)
class Size:
    """What means are taken over: sampled tokens and tries of one weight update."""

    tokens: int
    tries: int

    def counted(self, loss_mean: str) -> int:
        """What the sum of a loss over everything is divided by."""
        return self.tokens if loss_mean == "token" else self.tries


ONE = Size(1, 1)
"""Of a part: what it is a part of is known later."""


@dataclass(frozen=True)
class Part:
    """What some groups add to an update: what is shown of their micro-batches, and the sum of the gradients
    (none where nobody said a word)."""

    learned: tuple[Learned, ...] = ()
    gradients: tuple[Tensor, ...] = ()


class Learner(ABC):
    """Implements types.Trainer but for files. `workers` threads compute micro-batches, with any number the
    results are the same. Raises ValueError for a job whose algorithm makes no sense."""

    def __init__(
        self,
        base: Decoder,
        policy: Decoder,
        parameters: dict[str, nn.Parameter],
        job: Job,
        workers: int | None,
    ) -> None:
        if reason := refusal(job):
            raise ValueError(reason)
        _one_thread()
        self.job, self.base, self.policy, self.parameters = job, base, policy, parameters
        here = min(2, len(os.sched_getaffinity(0))) if self.device.type == "cpu" else 1
        self.workers = workers or here
        norm.install(policy)
        recompute.install(policy)
        self.optimizer = torch.optim.AdamW(
            parameters.values(), lr=job.learning_rate, betas=BETAS, weight_decay=job.weight_decay
        )
        self.random = torch.Generator().manual_seed(seed_for(job.seed, "trainer"))
        self._pool: ThreadPoolExecutor | None = None
        self._parts: dict[int, Future[Part]] = {}

    @property
    def device(self) -> torch.device:
        return self.policy.model.norm.weight.device

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """The whole weights that may differ from the base model, fp32, by parameter name; an update makes
        new tensors and leaves these as they are."""

    @abstractmethod
    def _updated(self) -> None:
        """The parameters have changed."""

    def study(
        self, part: int, groups: Sequence[Group], advantages: Sequence[tuple[float, ...]]
    ) -> Future[Part]:
        """Begin with a part of the next update; see types.Trainer. Its gradients are kept until then."""
        self._pool = self._pool or ThreadPoolExecutor(self.workers, initializer=_one_thread)
        if part not in self._parts:
            self._parts[part] = self._pool.submit(self._part, groups, advantages)
        return self._parts[part]

    def update(self, batch: Batch) -> dict[str, float]:
        """One training step of job.optimizer_steps weight updates, each on its share of the groups; or of
        one, in parts that may have been begun before.

        An update whose loss or gradient is not finite is left out and counted as `skipped`.
        """
        if batch.parts:
            return joined([self._update_by_parts(batch)])
        pairs = list(zip(batch.groups, batch.advantages, strict=True))
        count = max(1, min(self.job.optimizer_steps, len(pairs)))
        shares = [pairs[len(pairs) * i // count : len(pairs) * (i + 1) // count] for i in range(count)]
        with ThreadPoolExecutor(self.workers, initializer=_one_thread) as pool:
            lessons = [[Lesson(pack.to(self.device)) for pack in _packs(share)] for share in shares]
            if self.job.importance != "none":  # the first update finds the policy as it is
                lessons[1:] = [self._with_proximal(share, pool) for share in lessons[1:]]
            made = [
                self._update_on(
                    prepared, sum(len(g.trajectories) for g, _ in share), batch.learning_rate, pool
                )
                for prepared, share in zip(lessons, shares, strict=True)
            ]
        return joined(made)

    def _update_by_parts(self, batch: Batch) -> dict[str, float]:
        """The gradient is a sum over tokens, so dividing it is left until all of them are known."""
        for number in sorted(set(batch.parts)):
            held = [place for place, part in enumerate(batch.parts) if part == number]
            self.study(number, [batch.groups[at] for at in held], [batch.advantages[at] for at in held])
        assert self._pool is not None
        with self._pool:
            parts = [future.result() for _, future in sorted(self._parts.items())]
        self._pool, self._parts = None, {}
        for part in parts:
            self._add(part.gradients)
        learned = [shown for part in parts for shown in part.learned]
        tries = sum(len(group.trajectories) for group in batch.groups)
        size = Size(sum(shown.tokens for shown in learned), tries)
        if not size.tokens:
            return NOTHING_SAID
        share = 1.0 / (batch.unit * size.counted(self.job.loss_mean))
        for parameter in self.parameters.values():
            assert parameter.grad is not None
            parameter.grad.mul_(share)
        return self._stepped(learned, share * sum(shown.loss for shown in learned), size, batch.learning_rate)

    def _part(self, groups: Sequence[Group], advantages: Sequence[tuple[float, ...]]) -> Part:
        """What groups add to the loss and its gradient, before it is divided by anything."""
        made = _packs(
            list(zip(groups, advantages, strict=True)), small=TOKEN_BUDGET
        )  # others keep cores busy
        if not made:
            return Part()
        place = groups[0].step, groups[0].index
        drawn = torch.Generator().manual_seed(seed_for(self.job.seed, "shown", *place))
        tries = sum(len(group.trajectories) for group in groups)
        lessons = [Lesson(pack.to(self.device)) for pack in made]
        lessons = self._with_some_base(lessons, max(1, tries // SHOWN), drawn)
        learned: list[Learned] = []
        total: tuple[Tensor, ...] = ()
        for lesson in lessons:
            shown, gradients = self._learn(lesson, ONE)
            learned.append(shown)
            for mine, more in zip(total, gradients, strict=bool(total)):
                mine.add_(more)
            total = total or gradients
        return Part(tuple(learned), total)

    def _with_proximal(self, lessons: Sequence[Lesson], pool: ThreadPoolExecutor) -> list[Lesson]:
        found = pool.map(lambda lesson: _measured(self.policy, lesson.pack), lessons)
        return [replace(lesson, proximal_T=T) for lesson, T in zip(lessons, found, strict=True)]

    def _update_on(
        self, lessons: list[Lesson], tries: int, learning_rate: float, pool: ThreadPoolExecutor
    ) -> dict[str, float]:
        size = Size(sum(len(lesson.pack.row_T) for lesson in lessons), tries)
        if not size.tokens:
            return NOTHING_SAID
        lessons = self._with_base(lessons, size, pool)
        learned = self._learned(pool.map(lambda lesson: self._learn(lesson, size), lessons))
        return self._stepped(learned, sum(part.loss for part in learned), size, learning_rate)

    def _stepped(
        self, learned: Sequence[Learned], loss: float, size: Size, learning_rate: float
    ) -> dict[str, float]:
        """Update the weights by the gradients there are, if they are finite; what is shown of it."""
        length = float(nn.utils.clip_grad_norm_(self.parameters.values(), self.job.max_grad_norm))
        finite = math.isfinite(loss) and math.isfinite(length)
        if finite:
            self._step(learning_rate)
        self.optimizer.zero_grad()
        shown = metrics(learned, size.tokens) | {
            "loss": loss,
            "grad_norm": length,
            "skipped": float(not finite),
        }
        return {key: value if math.isfinite(value) else 0.0 for key, value in shown.items()}

    def _with_base(self, lessons: Sequence[Lesson], size: Size, pool: ThreadPoolExecutor) -> list[Lesson]:
        """With the base model's log-probabilities: of all lessons if they are penalised, else of a few tries
        drawn by chance, to be shown. A penalty in the advantages is taken off them here."""
        if self.job.kl_coefficient == 0:
            return self._with_some_base(lessons, max(1, size.tries // SHOWN), self.random)
        found = pool.map(lambda lesson: _measured(self.base, lesson.pack), lessons)
        known = [replace(lesson, base_T=T) for lesson, T in zip(lessons, found, strict=True)]
        return self._penalised(known) if self.job.kl_in == "advantage" else known

    def _with_some_base(self, lessons: Sequence[Lesson], tries: int, chance: torch.Generator) -> list[Lesson]:
        """`tries` that lie side by side share most of what is computed; they are all of one lesson."""
        drawn = int(torch.randint(len(lessons), (), generator=chance))
        pack = lessons[drawn].pack
        held = int(pack.try_T.max()) + 1
        first = int(torch.randint(max(1, held - tries + 1), (), generator=chance))
        few, base_at = pack.of_tries(range(first, min(held, first + tries)))
        known = replace(lessons[drawn], few=few.to(self.device), base_at=base_at)
        return [*lessons[:drawn], known, *lessons[drawn + 1 :]]

    def _penalised(self, lessons: Sequence[Lesson]) -> list[Lesson]:
        kl = [known.pack.old_logprobs_T - known.base_T for known in lessons if known.base_T is not None]
        mean, coefficient = torch.cat(kl).mean().item(), self.job.kl_coefficient
        penalised = []
        for lesson, kl_T in zip(lessons, kl, strict=True):
            advantages_T = less_kl(lesson.pack.advantages_T, kl_T, mean, coefficient)
            penalised.append(replace(lesson, pack=replace(lesson.pack, advantages_T=advantages_T)))
        return penalised

    def _learn(self, lesson: Lesson, size: Size) -> tuple[Learned, tuple[Tensor, ...]]:
        """Forward and backward over one micro-batch; what is shown of it and its gradients."""
        job, pack = self.job, lesson.pack
        if lesson.few is not None:
            lesson = replace(lesson, base_T=_measured(self.base, lesson.few))
        logprobs_M, entropy_M = _logprobs(self.policy, pack)
        logprobs_T = logprobs_M[pack.row_T]
        token_loss = self._token_loss(lesson, logprobs_T)
        loss_T = token_loss.loss_T
        kl_T = lesson.kl(logprobs_T)
        if kl_T is not None and job.kl_coefficient > 0 and job.kl_in == "loss":
            loss_T = loss_T + job.kl_coefficient * kl_T
        counts = {"tokens": size.tokens, "tries": size.tries, "max_tokens": job.max_tokens}
        loss = torch.dot(loss_T, mean_weights(job.loss_mean, pack.try_T, **counts))
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        shown = Learned(
            loss=loss.item(),
            tokens=len(pack.row_T),
            nodes=len(pack.ids_N),
            entropy=entropy_M[pack.row_T].sum().item(),
            clipped=int(token_loss.clipped_T.sum()),
            ratio_T=torch.exp(logprobs_T.detach() - pack.old_logprobs_T),
            kl=None if kl_T is None else kl_T.sum().item(),
            kl_tokens=0 if kl_T is None else len(kl_T),
        )
        return shown, gradients

    def _token_loss(self, lesson: Lesson, logprobs_T: Tensor) -> TokenLoss:
        """The loss by name, against the sampler's policy; or, where its difference from the learner's is
        corrected for, against the learner's own before the step, each token with the weight of that."""
        job, pack = self.job, lesson.pack
        if job.importance == "none":
            return _loss(job, logprobs_T, pack.old_logprobs_T, pack)
        proximal_T = logprobs_T.detach() if lesson.proximal_T is None else lesson.proximal_T
        weight_T = correction(proximal_T, pack.old_logprobs_T, job.importance, job.importance_cap)
        plain = _loss(job, logprobs_T, proximal_T, pack)
        capped_T = (weight_T == 0) | (weight_T == job.importance_cap)
        return replace(plain, loss_T=weight_T * plain.loss_T, clipped_T=plain.clipped_T | capped_T)

    def _learned(self, parts: Iterable[tuple[Learned, tuple[Tensor, ...]]]) -> list[Learned]:
        """Add up the gradients as they come, always in the same order, so that few exist at a time."""
        learned = []
        for shown, gradients in parts:
            learned.append(shown)
            self._add(gradients)
        return learned

    def _add(self, gradients: Sequence[Tensor]) -> None:
        """Gradients of all parameters, or none."""
        for parameter, gradient in zip(self.parameters.values(), gradients, strict=bool(gradients)):
            parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)

    def _step(self, learning_rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self._updated()

    def _save_state(self, directory: Path) -> None:
        """AdamW's moments and the random state."""
        moments = {
            f"{key}/{name}": value
            for name, parameter in self.parameters.items()
            for key, value in self.optimizer.state[parameter].items()
        }
        write_bytes(directory / OPTIMIZER, save(moments))
        write_bytes(directory / RANDOM, save({"trainer": self.random.get_state()}))

    def _load(self, directory: Path, values: dict[str, Tensor]) -> None:
        """Take `values` as the parameters, and the rest from where `_save_state` put it."""
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(values[name])
        self._updated()
        self.optimizer.state.clear()
        for key, value in load_file(directory / OPTIMIZER).items():
            what, _, name = key.partition("/")
            parameter = self.parameters[name]
            place = value.device if what == "step" else parameter.device
            self.optimizer.state[parameter][what] = value.to(place, copy=True)
        self.random.set_state(load_file(directory / RANDOM)["trainer"])


def _one_thread() -> None:
    """More threads in one operation spin against each other and change sums in the last bit."""
    torch.set_num_threads(1)


def _packs(share: Sequence[tuple[Group, Sequence[float]]], small: int = SMALL) -> list[Pack]:
    """Micro-batches of every segment of every try, with the advantage of the try."""
    lines: list[Line] = []
    numbers: list[int] = []
    tries = [entry for group, given in share for entry in zip(group.trajectories, given, strict=True)]
    for number, (trajectory, advantage) in enumerate(tries):
        lines += [(segment, advantage) for segment in trajectory.segments]
        numbers += [number] * len(trajectory.segments)
    return packs(lines, TOKEN_BUDGET, numbers, small)


def _loss(job: Job, logprobs_T: Tensor, old_T: Tensor, pack: Pack) -> TokenLoss:
    low, high = clip_bounds(job)
    given = (logprobs_T, old_T, pack.advantages_T)
    if job.loss == "gspo":
        return gspo(*given, pack.try_T, clip_low=low, clip_high=high)
    by_token: Callable[..., TokenLoss] = {"cispo": cispo, "ppo": ppo}[job.loss]
    return by_token(*given, clip_low=low, clip_high=high)


def _logprobs(decoder: Decoder, pack: Pack) -> tuple[Tensor, Tensor]:
    """Log-probability and entropy [M] of a pack's sampled nodes."""
    hidden_NC = decoder(pack.ids_N, pack.positions_N, attention_over(pack.edges))
    tied = decoder.shape.tied
    head_VC = decoder.model.embed_tokens.weight if tied else decoder.lm_head.weight
    return token_logprobs(hidden_NC[pack.predictors_M], head_VC, pack.targets_M)


@torch.no_grad()
def _measured(decoder: Decoder, pack: Pack) -> Tensor:
    """Log-probabilities [T] of a pack's sampled tokens."""
    return _logprobs(decoder, pack)[0][pack.row_T]
