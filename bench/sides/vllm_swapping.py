"""The peer's side of C15: a LoRA adapter is loaded in place while vLLM decodes 32 rows with it.

    python -m bench.sides.vllm_swapping MODEL ADAPTERS '{"rounds": 6}' SETTING

Its engine is stepped by hand, in this process. The pause is what `add_lora(load_inplace=True)` takes (what
the server's load_lora_adapter calls, without HTTP), and what the next step takes longer than the median step
before it. The adapter comes from disk, since vLLM takes none from memory.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench import t6m
from bench.sides.vllm_rollouts import engine, restarted_with_openmp

PROMPTS, GROUP, PROMPT_TOKENS, TOKENS = 4, 8, 256, 64
SWAP_AT = TOKENS // 2
SETTLED = 8
"""Steps at the beginning of a round that do not count: prompts are read in the first ones."""
RANK = 16


def started(llm: Any, number: int, adapter: Any) -> None:
    """Ask for a round's tries, to be sampled with `adapter`."""
    from vllm import SamplingParams

    tokenizer = llm.get_tokenizer()
    for prompt in range(PROMPTS):
        ids = tokenizer.apply_chat_template(
            t6m.conversation(PROMPT_TOKENS, f"swap {number} {prompt}"),
            add_generation_prompt=True,
            return_dict=False,
        )
        for at in range(GROUP):
            asked = SamplingParams(temperature=1.0, max_tokens=TOKENS, ignore_eos=True, detokenize=False)
            llm.llm_engine.add_request(
                f"{number}/{prompt}/{at}", {"prompt_token_ids": ids}, asked, lora_request=adapter
            )


def round_of(llm: Any, number: int, adapters: list[Path]) -> dict[str, float]:
    """Play a round, and load the other adapter in place half-way; milliseconds."""
    from vllm.lora.request import LoRARequest

    this, other = adapters[number % 2], adapters[1 - number % 2]
    started(llm, number, LoRARequest("policy", 1, str(this)))
    steps: list[float] = []
    loading = 0.0
    while llm.llm_engine.has_unfinished_requests():
        if len(steps) == SWAP_AT:
            began = time.perf_counter()
            llm.llm_engine.add_lora(LoRARequest("policy", 1, str(other), load_inplace=True))
            loading = time.perf_counter() - began
        began = time.perf_counter()
        llm.llm_engine.step()
        steps.append(time.perf_counter() - began)
    before = statistics.median(steps[SETTLED:SWAP_AT])
    return {
        "pause": 1000 * (loading + max(0.0, steps[SWAP_AT] - before)),
        "loading": 1000 * loading,
        "step_before": 1000 * before,
        "step_after": 1000 * statistics.median(steps[SWAP_AT + 1 : -1]),
    }


def main() -> None:
    restarted_with_openmp("bench.sides.vllm_swapping")
    model, adapters = sys.argv[1], [Path(sys.argv[2]) / name for name in ("a", "b")]
    rounds, setting = json.loads(sys.argv[3])["rounds"], json.loads(sys.argv[4])
    llm = engine(model, setting, enable_lora=True, max_lora_rank=RANK, max_loras=1)
    told = [round_of(llm, number, adapters) for number in range(rounds + 1)][1:]
    print(json.dumps({"figure": statistics.median(one["pause"] for one in told), "rounds": told}))


if __name__ == "__main__":
    main()
