"""The peer's side of C1b: vLLM on the CPU, with prefix caching and n = 8.

    python -m bench.sides.vllm_rollouts WORKLOAD.json '{"threads": 2, "dtype": "bfloat16", "compile": false}'
    python -m bench.sides.vllm_rollouts WORKLOAD.json --logprobs SAMPLES.json

At its best: the engine runs in this process (no hand-over between processes), with Intel's OpenMP as its
manual advises, ids in and ids out (no tokenizer, no detokenizer), nothing logged, no log-probabilities
(ours come with them), and a second round to warm up. The work may not start before the guard at the end:
vLLM starts processes that import this file.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.workload import WARM_UP, Workload, read_workload

LIBRARY = "libiomp5.so"
GIVEN = "VLLM_BENCH_STARTED"


def restarted_with_openmp(program: str) -> None:
    """Start the module `program` once more with Intel's OpenMP loaded first, as vLLM's manual advises."""
    library = Path(sys.prefix) / "lib" / LIBRARY
    if GIVEN in os.environ or not library.exists():
        return
    environment = os.environ | {GIVEN: "1", "LD_PRELOAD": str(library)}
    os.execve(sys.executable, [sys.executable, "-m", program, *sys.argv[1:]], environment)


def engine(model: str, setting: dict[str, Any], **more: Any) -> Any:
    """A vLLM engine in this process, on the first `threads` of the cores it may use."""
    cores = sorted(os.sched_getaffinity(0))[: setting["threads"]]
    os.environ |= {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, cores)),
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
    }
    from vllm import LLM

    return LLM(
        model,
        dtype=setting["dtype"],
        enforce_eager=not setting["compile"],
        max_model_len=1024,
        max_num_seqs=32,
        max_num_batched_tokens=2048,
        enable_prefix_caching=True,
        disable_log_stats=True,
        seed=0,
        **more,
    )


def prompts_of(llm: Any, work: Workload) -> list[list[int]]:
    tokenizer = llm.get_tokenizer()
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in work.prompts]


def timed(work: Workload, setting: dict[str, Any]) -> dict[str, Any]:
    """Sampled tokens a second in each of setting["rounds"] rounds after one to warm up."""
    from vllm import SamplingParams

    llm = engine(work.model, setting)
    prompts = prompts_of(llm, work)
    asked = SamplingParams(
        n=work.group_size, temperature=1.0, max_tokens=work.max_tokens, ignore_eos=True, detokenize=False
    )
    warm = [[*ids[:-1], ids[0]] for ids in prompts[: work.prompts_per_step]]
    llm.generate([{"prompt_token_ids": ids} for ids in warm], asked, use_tqdm=False)
    rates = []
    for at in range(0, (setting["rounds"] + WARM_UP) * work.prompts_per_step, work.prompts_per_step):
        given = [{"prompt_token_ids": ids} for ids in prompts[at : at + work.prompts_per_step]]
        began = time.perf_counter()
        told = llm.generate(given, asked, use_tqdm=False)
        seconds = time.perf_counter() - began
        sampled = sum(len(one.token_ids) for request in told for one in request.outputs)
        if sampled != work.tries * work.max_tokens:
            raise RuntimeError(f"{sampled} tokens were sampled, not as many as asked for")
        rates.append(sampled / seconds)
    return {"figure": statistics.median(rates[WARM_UP:]), "rounds": [round(rate) for rate in rates]}


def agreement(work: Workload, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """What vLLM itself says of the other side's tries, and its distribution of a first token."""
    from vllm import SamplingParams

    llm = engine(work.model, {"threads": 1, "dtype": "float32", "compile": False}, max_logprobs=-1)
    tries = [{"prompt_token_ids": one["prompt_ids"] + one["token_ids"]} for one in samples]
    read = llm.generate(tries, SamplingParams(max_tokens=1, prompt_logprobs=0), use_tqdm=False)
    first = {"prompt_token_ids": samples[0]["prompt_ids"]}
    drawn = llm.generate([first], SamplingParams(max_tokens=1, logprobs=-1), use_tqdm=False)
    distribution = drawn[0].outputs[0].logprobs[0]
    return {
        "prompt_ids": prompts_of(llm, work)[: len(samples)],
        "logprobs": [
            [told.prompt_logprobs[at][token].logprob for at, token in _taken(one)]
            for one, told in zip(samples, read, strict=True)
        ],
        "first": [distribution[token].logprob for token in range(len(distribution))],
    }


def _taken(sample: dict[str, Any]) -> list[tuple[int, int]]:
    """Positions and ids of a try's sampled tokens."""
    return list(enumerate(sample["token_ids"], start=len(sample["prompt_ids"])))


def main() -> None:
    restarted_with_openmp("bench.sides.vllm_rollouts")
    work = read_workload(Path(sys.argv[1]))
    if sys.argv[2] == "--logprobs":
        told = agreement(work, json.loads(Path(sys.argv[3]).read_text())["samples"])
    else:
        told = timed(work, json.loads(sys.argv[2]))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
