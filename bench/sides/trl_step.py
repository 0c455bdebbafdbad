"""The peer's side of the grpo-step bar: TRL's GRPOTrainer, in its own environment (bench/.peers).

    python bench/trl_step.py WORKLOAD.json '{"threads": 2, "micro_batch": 32}'   seconds of each timed step
    python bench/trl_step.py WORKLOAD.json --logprobs SAMPLES.json               log-probabilities of samples

Same weights, prompts, group size, LoRA, loss and reward as ArtWeb's side; settings that cost TRL time and
are not part of the task are off (gradient checkpointing, bf16 emulation, checkpoints, logging).
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SETTINGS = json.loads(sys.argv[2]) if sys.argv[2].startswith("{") else {"threads": 1, "micro_batch": 1}
os.environ["OMP_NUM_THREADS"] = str(SETTINGS["threads"])
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from peft import LoraConfig  # noqa: E402
from transformers import AutoTokenizer, TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402
from workload import Workload, read_workload, reward  # noqa: E402

TOKENS: list[int] = []


def rewards(
    prompts: list[str], completions: list[str], completion_ids: list[list[int]], **_: Any
) -> list[float]:
    TOKENS.append(sum(map(len, completion_ids)))
    return [reward(completion, index) for index, completion in enumerate(completions)]


class Clock(TrainerCallback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.ends.append(time.perf_counter())


def trainer(work: Workload, directory: str, clock: Clock) -> GRPOTrainer:
    micro_batch = min(SETTINGS["micro_batch"], work.tries)
    lora = LoraConfig(
        r=work.lora_rank,
        lora_alpha=work.lora_alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    config = GRPOConfig(
        output_dir=directory,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        model_init_kwargs={"dtype": "float32"},
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=work.tries // micro_batch,
        num_generations=work.group_size,
        max_completion_length=work.max_tokens,
        max_steps=work.warm_up + work.steps,
        temperature=1.0,
        top_k=0,
        beta=0.0,
        loss_type="cispo",
        epsilon=1.0,
        epsilon_high=5.0,
        scale_rewards="batch",
        learning_rate=work.learning_rate,
        lr_scheduler_type="constant",
        shuffle_dataset=False,
        seed=work.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    return GRPOTrainer(
        model=work.model,
        reward_funcs=rewards,
        args=config,
        train_dataset=Dataset.from_dict({"prompt": list(work.prompts)}),
        processing_class=AutoTokenizer.from_pretrained(work.model, padding_side="left"),
        peft_config=lora,
        callbacks=[clock],
    )


def timed(work: Workload, directory: str) -> dict[str, Any]:
    clock = Clock()
    trainer(work, directory, clock).train()
    steps = zip(clock.ends[work.warm_up - 1 :], clock.ends[work.warm_up :], strict=False)
    return {"seconds": [after - before for before, after in steps], "tokens": TOKENS[work.warm_up :]}


def logprobs(work: Workload, directory: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What TRL's own learner makes of the other side's answers, and how it reads their prompts."""
    learner = trainer(work, directory, Clock())
    learner.model.eval()
    told = []
    for sample in samples:
        ids = torch.tensor([sample["prompt_ids"] + sample["token_ids"]])
        with torch.no_grad():
            found = learner._get_per_token_logps_and_entropies(
                learner.model, ids, torch.ones_like(ids), len(sample["token_ids"])
            )[0]
        read = learner.processing_class(text=[sample["prompt"]])["input_ids"][0]
        told.append({"logprobs": found[0].tolist(), "prompt_ids": list(read)})
    return told


def main() -> None:
    work = read_workload(Path(sys.argv[1]))
    torch.set_num_threads(SETTINGS["threads"])
    with tempfile.TemporaryDirectory() as directory:
        if sys.argv[2] == "--logprobs":
            told: Any = logprobs(work, directory, json.loads(Path(sys.argv[3]).read_text()))
        else:
            told = timed(work, directory)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
