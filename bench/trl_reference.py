"""Writes the golden numbers of tests/gpu_worker/test_grpo.py: TRL's own GRPO loss on fixed tensors.

TRL is not a requirement of ArtWeb. In an environment of its own (trl==1.16.0 with torch), run
    python bench/trl_reference.py tests/gpu_worker/data/trl_loss.json
It calls `GRPOTrainer._compute_loss` itself, unbound, on an object that carries the settings that method
reads and hands it our fixed log-probabilities in place of a model's. `loss_type="cispo"` divides by the
number of completion tokens in the batch, as we do; epsilon_high is the cap on the ratio, our 1 + clip_high.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import torch
import trl
from trl import GRPOTrainer

CASES = {
    "on_policy": {"epsilon_high": 5.0, "beta": 0.0, "drift": 0.0},
    "off_policy": {"epsilon_high": 5.0, "beta": 0.0, "drift": 0.4},
    "clipped": {"epsilon_high": 1.2, "beta": 0.0, "drift": 0.6},
    "with_kl": {"epsilon_high": 5.0, "beta": 0.05, "drift": 0.4},
}


class OneProcess:
    num_processes = 1
    sync_gradients = True

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def reduce(self, tensor: torch.Tensor, reduction: str) -> torch.Tensor:
        return tensor


def trainer_with(logprobs_BT: torch.Tensor, epsilon_high: float, beta: float) -> SimpleNamespace:
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
        importance_sampling_level="token",
        beta=beta,
        epsilon_low=1.0,
        epsilon_high=epsilon_high,
        loss_type="cispo",
        use_vllm=False,
        model=SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1,
        accelerator=OneProcess(),
        args=SimpleNamespace(use_bias_correction_kl=False, steps_per_generation=1, delta=None),
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
    )


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
    }


def golden(epsilon_high: float, beta: float, drift: float) -> dict[str, object]:
    """One case: what went in, TRL's loss and its gradient with respect to the log-probabilities."""
    tensors = fixed_tensors(drift)
    logprobs_BT, sampled_BT = tensors["logprobs_BT"].clone().requires_grad_(), tensors["sampled_BT"]
    inputs = {
        "prompt_ids": torch.zeros(len(sampled_BT), 2, dtype=torch.long),
        "prompt_mask": torch.ones(len(sampled_BT), 2, dtype=torch.long),
        "completion_ids": torch.zeros_like(sampled_BT),
        "completion_mask": torch.ones_like(sampled_BT),
        "tool_mask": sampled_BT,
        "advantages": tensors["advantages_B"],
        "old_per_token_logps": tensors["old_logprobs_BT"],
        "ref_per_token_logps": tensors["base_logprobs_BT"],
        "num_items_in_batch": sampled_BT.sum(),
    }
    loss = GRPOTrainer._compute_loss(trainer_with(logprobs_BT, epsilon_high, beta), None, inputs)
    loss.backward()
    assert logprobs_BT.grad is not None
    return {
        "clip_high": epsilon_high - 1,
        "kl_coefficient": beta,
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
