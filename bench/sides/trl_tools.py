"""TRL's GRPOTrainer with tools, in TRL's own environment, as C2 and C5 use it.

TRL gets the same conversations, tools and tool results, and reads calls with the Qwen/hermes response
template that it ships, which is the form our model writes. What costs it time and is not part of the task
is off: gradient checkpointing, checkpoints, logging.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import Scenario, Split, ToolError

DESK = ENVIRONMENTS["order_desk"]
DESK_LIMITS: dict[str, Any] = {
    "max_completion_length": 320,
    "max_tool_calling_iterations": DESK.max_turns - 1,
    "generation_kwargs": {"max_new_tokens": 96},
}
"""Order desk's limits: six turns of 96 tokens, as ours. A try that succeeds takes 251 tokens at most, tool
results included; 320 for a whole try spares TRL the padding of the few that ramble on."""


def _desk_tool(name: str, column: str, value: str) -> str:
    (tool,) = [one for one in DESK.tools(Scenario("", "train", ())) if one.spec.name == name]
    try:
        return tool.call({"column": column, "value": value})
    except ToolError as error:
        return f"Error: {error}"


def find_customers(column: Literal["customer_id", "email", "name", "city"], value: str) -> str:
    """
    Look up customers by the value of one column.

    Args:
        column: The column to look in.
        value: The whole value to find.

    Returns:
        The rows that were found.
    """
    return _desk_tool("find_customers", column, value)


def find_orders(column: Literal["order_id", "customer_id", "status", "total", "date"], value: str) -> str:
    """
    Look up orders by the value of one column.

    Args:
        column: The column to look in.
        value: The whole value to find.

    Returns:
        The rows that were found.
    """
    return _desk_tool("find_orders", column, value)


def desk_scenarios(split: Split, count: int, seed: int) -> list[Scenario]:
    return DESK.scenarios(split, count, seed)


def desk_conversation(scenario: Scenario) -> list[dict[str, Any]]:
    return [{"role": "system", "content": DESK.system_prompt}, *scenario.messages]


def tool_trainer(
    model: str,
    directory: str,
    setting: Mapping[str, Any],
    *,
    tools: Sequence[Callable[..., str]],
    columns: Mapping[str, Sequence[Any]],
    reward: Callable[..., list[float]],
    lora: tuple[int, int] | None = None,
    callbacks: Sequence[Any] = (),
    **config: Any,
) -> Any:
    """A trainer on conversations (columns["prompt"]) with tools; `setting` has threads and dtype: a number
    format, or autocast (fp32 weights, products in bf16 where torch says that is safe)."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import qwen3_template

    tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    tokenizer.response_template = qwen3_template
    rank, alpha = lora or (0, 0)
    autocast = setting["dtype"] == "autocast"
    adapter = LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=directory,
            use_cpu=True,
            bf16=autocast,
            gradient_checkpointing=False,
            model_init_kwargs={"dtype": "float32" if autocast else setting["dtype"]},
            temperature=1.0,
            top_k=0,
            beta=0.0,
            shuffle_dataset=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            **config,
        ),
        train_dataset=Dataset.from_dict(dict(columns)),
        processing_class=tokenizer,
        peft_config=adapter if lora else None,
        tools=list(tools),
        callbacks=list(callbacks),
    )
