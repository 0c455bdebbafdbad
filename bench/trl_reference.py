"""Writes the golden numbers of tests/gpu_worker/test_grpo.py: TRL's own GRPO loss on fixed tensors.

TRL is not a requirement of ArtWeb. In an environment of its own (trl==1.16.0 with torch), run
    python bench/trl_reference.py tests/gpu_worker/data/trl_loss.json
It calls `GRPOTrainer._compute_loss` itself, unbound, on an object that carries the settings that method
reads and hands it our fixed log-probabilities in place of a model's. `loss_type="cispo"` divides by the
number of completion tokens in the batch, as we do; epsilon_high is then the cap on the ratio, our
1 + clip_high, and elsewhere the distance from 1. What its sampling makes of two policies' log-probabilities,
the importance ratio, is written out here in the lines that it has there.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import torch
import trl
from trl import GRPOTrainer

ON = {"drift": 0.0}
OFF = {"drift": 0.4}
PPO = {"loss_type": "dapo", "epsilon_low": 0.2, "epsilon_high": 0.28}
CASES: dict[str, dict[str, object]] = {
    "on_policy": ON,
    "off_policy": OFF,
    "clipped": {"epsilon_high": 1.2, "drift": 0.6},
    "with_kl": OFF | {"beta": 0.05},
    "ppo": PPO | OFF,
    "ppo_on_policy": PPO | ON,
    "ppo_with_kl": PPO | OFF | {"beta": 0.05},
    "ppo_try": PPO | OFF | {"loss_type": "grpo", "beta": 0.05},
    "ppo_constant": PPO | OFF | {"loss_type": "dr_grpo"},
    "gspo": {"importance_sampling_level": "sequence", "loss_type": "grpo", "drift": 0.01}
    | {"epsilon_low": 3e-4, "epsilon_high": 4e-4},
    "gspo_token": {"importance_sampling_level": "sequence", "loss_type": "dapo", "drift": 0.4}
    | {"epsilon_low": 0.1, "epsilon_high": 0.1},
    "truncate": OFF | {"importance": "truncate", "beta": 0.05},
    "ppo_mask": PPO | OFF | {"importance": "mask"},
}
"""What differs from SETTINGS; `drift` is how far the old log-probabilities lie from the present ones."""

SETTINGS: dict[str, object] = {
    "importance_sampling_level": "token",
    "beta": 0.0,
    "epsilon_low": 1.0,
    "epsilon_high": 5.0,
    "loss_type": "cispo",
    "importance": "none",
}
CAP = 1.3
"""importance_cap of the cases that correct for the sampler."""
MAX_TOKENS = 12


class OneProcess:
    num_processes = 1
    sync_gradients = True

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def reduce(self, tensor: torch.Tensor, reduction: str) -> torch.Tensor:
        return tensor


def trainer_with(logprobs_BT: torch.Tensor, settings: dict[str, object]) -> SimpleNamespace:
    """What `_compute_loss` reads of a trainer, and our log-probabilities where it asks the model."""
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (
            logprobs_BT,
            torch.zeros_like(logprobs_BT),
            None,
        ),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=settings["importance"] != "none",
        vllm_importance_sampling_correction=True,
        max_completion_length=MAX_TOKENS,
        model=SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1,
        accelerator=OneProcess(),
        args=SimpleNamespace(use_bias_correction_kl=False, steps_per_generation=1, delta=None),
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
        **settings,
    )


def importance_ratio(proximal_BT: torch.Tensor, sampler_BT: torch.Tensor, how: object) -> torch.Tensor:
    """As `_generate_and_score_completions` makes it in its modes token_truncate and token_mask."""
    ratio_BT = torch.exp(proximal_BT - sampler_BT)
    if how == "truncate":
        return torch.clamp(ratio_BT, max=CAP)
    outside_BT = (ratio_BT < 1 / CAP) | (ratio_BT > CAP)
    return ratio_BT.masked_fill(outside_BT, 0.0)


def fixed_tensors(drift: float) -> dict[str, torch.Tensor]:
    """Six tries of at most eleven tokens; two of them hold tool results, which are not sampled."""
    tries, tokens = 6, 11
    generator = torch.Generator().manual_seed(7)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    logprobs_BT = -normal(tries, tokens).abs()
    sampled_BT = (torch.arange(tokens) < torch.tensor([11, 3, 7, 1, 10, 5])[:, None]).long()
    sampled_BT[0, 4:6] = 0
    sampled_BT[4, 2:7] = 0
    return {
        "logprobs_BT": logprobs_BT,
        "old_logprobs_BT": logprobs_BT + drift * normal(tries, tokens),
        "base_logprobs_BT": logprobs_BT + 0.3 * normal(tries, tokens),
        "advantages_B": normal(tries),
        "sampled_BT": sampled_BT,
        "sampler_logprobs_BT": logprobs_BT + 0.3 * normal(tries, tokens),
    }


def golden(drift: float, **chosen: object) -> dict[str, object]:
    """One case: what went in, TRL's loss and its gradient with respect to the log-probabilities."""
    settings, tensors = SETTINGS | chosen, fixed_tensors(drift)
    logprobs_BT, sampled_BT = tensors["logprobs_BT"].clone().requires_grad_(), tensors["sampled_BT"]
    old_BT, sampler_BT = tensors["old_logprobs_BT"], tensors["sampler_logprobs_BT"]
    inputs = {
        "prompt_ids": torch.zeros(len(sampled_BT), 2, dtype=torch.long),
        "prompt_mask": torch.ones(len(sampled_BT), 2, dtype=torch.long),
        "completion_ids": torch.zeros_like(sampled_BT),
        "completion_mask": torch.ones_like(sampled_BT),
        "tool_mask": sampled_BT,
        "advantages": tensors["advantages_B"],
        "old_per_token_logps": old_BT,
        "ref_per_token_logps": tensors["base_logprobs_BT"],
        "num_items_in_batch": sampled_BT.sum(),
        "importance_sampling_ratio": importance_ratio(old_BT, sampler_BT, settings["importance"]),
    }
    loss = GRPOTrainer._compute_loss(trainer_with(logprobs_BT, settings), None, inputs)
    loss.backward()
    assert logprobs_BT.grad is not None
    return {
        **settings,
        "importance_cap": CAP,
        "max_tokens": MAX_TOKENS,
        **{name: tensor.tolist() for name, tensor in tensors.items()},
        "loss": loss.item(),
        "gradient_BT": logprobs_BT.grad.tolist(),
    }


def main(path: Path) -> None:
    cases = {name: golden(**settings) for name, settings in CASES.items()}
    path.write_text(json.dumps({"trl": trl.__version__, "torch": torch.__version__, "cases": cases}) + "\n")
    for name, case in cases.items():
        print(name, case["loss"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
