"""TRL's side of C2: the rollouts of GRPOTrainer's tools path, and nothing but the rollouts.

    python -m bench.sides.trl_tool_rollouts scripted MODEL OPTIONS '{"threads": 2, "dtype": "bfloat16"}'
    python -m bench.sides.trl_tool_rollouts desk MODEL OPTIONS --logprobs SAMPLES.json

Its own `_generate` is timed: tokenising, `_generate_single_turn`, `_tool_call_loop`, without LoRA, rewards or
learning. For the scripted task only the reading of a turn is replaced: each “calls” the tool, which costs TRL
nothing, `generation_kwargs` end a turn after 32 tokens, and `max_tool_calling_iterations` ends the try. Its
continuous batching is left out: on a CPU it is several times slower than `generate` (see C1's settings).
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import scripted
from bench.sides.trl_tools import (
    DESK_LIMITS,
    desk_conversation,
    desk_scenarios,
    find_customers,
    find_orders,
    tool_trainer,
)
from bench.sides.trl_trainer import set_threads
from bench.workload import WARM_UP

Conversation = list[dict[str, Any]]


def conversations(task: str, count: int) -> list[Conversation]:
    if task == "desk":
        return [desk_conversation(scenario) for scenario in desk_scenarios("train", count, 0)]
    return [
        [
            {"role": "system", "content": scripted.SYSTEM},
            {"role": "user", "content": scripted.question(number)},
        ]
        for number in range(count)
    ]


def trainer(task: str, model: str, directory: str, prompts: list[Conversation], **setting: Any) -> Any:
    """A trainer whose `_generate` plays `task`; `setting` has threads and dtype."""
    limits = DESK_LIMITS
    if task == "scripted":
        limits = {
            "max_completion_length": scripted.TRY_TOKENS,
            "max_tool_calling_iterations": scripted.TURNS - 1,
            "generation_kwargs": {"max_new_tokens": scripted.TURN_TOKENS},
        }
    made = tool_trainer(
        model,
        directory,
        setting,
        tools=[scripted.look] if task == "scripted" else [find_customers, find_orders],
        columns={"prompt": prompts},
        reward=lambda completions, **_: [0.0] * len(completions),
        per_device_train_batch_size=8,
        num_generations=8,
        **limits,
    )
    if task == "scripted":
        _call_every_turn()
    return made


def _call_every_turn() -> None:
    from trl.trainer import grpo_trainer

    def called(*_: Any, **__: Any) -> dict[str, Any]:
        call = {"type": "function", "function": {"name": scripted.TOOL, "arguments": {}}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    grpo_trainer.parse_response = called


def timed(task: str, made: Any, prompts: list[Conversation], options: dict[str, int]) -> dict[str, Any]:
    """Tries a second in each round, the first of which warms up."""
    rates, count, group = [], options["prompts"], options["group"]
    tools = {tool.__name__: tool for tool in made.tools}
    made._sync_tool_dicts = [tools] * (count * group)
    made._async_tool_dicts = [{}] * (count * group)
    for at in range(0, len(prompts), count):
        asked = [prompt for prompt in prompts[at : at + count] for _ in range(group)]
        began = time.perf_counter()
        prompt_ids, completion_ids, *_ = made._generate(asked)
        rates.append(len(asked) / (time.perf_counter() - began))
        lengths = {len(a) + len(b) for a, b in zip(prompt_ids, completion_ids, strict=True)}
        if task == "scripted" and lengths != {scripted.TRY_TOKENS}:
            raise RuntimeError(f"scripted tries are {lengths} tokens long, not {scripted.TRY_TOKENS}")
    return {"figure": statistics.median(rates[WARM_UP:]), "rounds": [round(rate, 2) for rate in rates]}


def agreement(made: Any, prompts: list[Conversation], samples: list[dict[str, Any]]) -> dict[str, Any]:
    """TRL's reading of the prompts, and the model's own log-probabilities of the other side's tries."""
    import torch

    prompt_ids, *_ = made._tokenize_prompts(prompts[: len(samples)])
    told = []
    for sample in samples:
        ids, sampled = torch.tensor([sample["ids"]]), torch.tensor(sample["mask"])
        with torch.no_grad():
            logprobs_TV = made.model(ids).logits[0].float().log_softmax(-1)
        taken = logprobs_TV[:-1].gather(-1, ids[0, 1:, None])[:, 0]
        told.append(taken[sampled[1:]].tolist())
    return {"prompt_ids": [list(ids) for ids in prompt_ids], "logprobs": told}


def main() -> None:
    task, model, options, last = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]
    exact = {"threads": 1, "dtype": "float32"}
    setting = exact if last[0] == "--logprobs" else json.loads(last[0])
    set_threads(setting)
    prompts = conversations(task, options["prompts"] * (options["rounds"] + WARM_UP))
    with tempfile.TemporaryDirectory() as directory:
        made = trainer(task, model, directory, prompts, **setting)
        if last[0] == "--logprobs":
            told = agreement(made, prompts, json.loads(Path(last[1]).read_text())["samples"])
        else:
            told = timed(task, made, prompts, options)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
