"""TRL's GRPOTrainer as the bars use it, in TRL's own environment.

Same weights, group size, LoRA and loss as ArtWeb's side. What costs TRL time and is not part of the task is
off: gradient checkpointing (unless memory is what is measured), checkpoints, logging.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.device import CUDA

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"


def set_threads(setting: Mapping[str, Any]) -> None:
    """Before torch is loaded: as many OpenMP threads as the setting says."""
    os.environ["OMP_NUM_THREADS"] = str(setting["threads"])
    import torch

    torch.set_num_threads(setting["threads"])


def grpo_trainer(
    model: str,
    directory: str,
    setting: Mapping[str, Any],
    *,
    tries: int,
    group_size: int,
    prompts: Sequence[str],
    reward: Callable[..., list[float]],
    callbacks: Sequence[Any] = (),
    lora: tuple[int, int] = (16, 32),
    **config: Any,
) -> Any:
    """The trainer. `setting` has threads, micro_batch and dtype: float32, autocast (bf16 where torch says
    so, fp32 weights) or bfloat16 (weights too; LoRA stays fp32, as PEFT does it); and may ask for
    gradient checkpointing."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    micro_batch = min(setting["micro_batch"], tries)
    dtype = setting["dtype"]
    arguments = GRPOConfig(
        output_dir=directory,
        use_cpu=not CUDA,
        bf16=dtype != "float32",
        gradient_checkpointing=setting.get("checkpointing", False),
        model_init_kwargs={"dtype": "bfloat16" if dtype == "bfloat16" else "float32"},
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=tries // micro_batch,
        num_generations=group_size,
        temperature=1.0,
        top_k=0,
        beta=0.0,
        loss_type="cispo",
        epsilon=1.0,
        epsilon_high=5.0,
        scale_rewards="batch",
        lr_scheduler_type="constant",
        adam_beta2=0.99,
        shuffle_dataset=False,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        **config,
    )
    rank, alpha = lora
    return GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=arguments,
        train_dataset=Dataset.from_dict({"prompt": list(prompts)}),
        processing_class=AutoTokenizer.from_pretrained(model, padding_side="left"),
        peft_config=LoraConfig(
            r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
        callbacks=list(callbacks),
    )
