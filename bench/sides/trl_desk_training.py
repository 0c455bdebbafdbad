"""TRL's side of C5: order desk through GRPOTrainer(tools=…), from the same model, in TRL's environment.

    python -m bench.sides.trl_desk_training DIRECTORY '{"seed": 0, "limit": 600}' SETTING

Same conversations, tools, group size, tries a step, LoRA, loss, shape of the learning rate and reward: the
reward is ArtWeb's own check of the whole conversation, which needs neither torch nor Django.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench import desk_race
from bench.sides.trl_tools import (
    DESK_LIMITS,
    desk_conversation,
    desk_scenarios,
    find_customers,
    find_orders,
    tool_trainer,
)
from bench.sides.trl_trainer import set_threads
from gpu_worker.types import Ended, Scenario, Trajectory
from judging.checks import check

Message = dict[str, Any]
REWARDS: list[float] = []
"""The mean reward of each step."""


def reward_of(scenario: Scenario, messages: list[Message], ended_itself: bool) -> float:
    """What ArtWeb's checks say of a conversation that TRL played."""
    trajectory = Trajectory(scenario.id, 0, tuple(messages), (), ending(messages, ended_itself))
    score = check(scenario, trajectory)
    return score.value if score else 0.0


def ending(messages: list[Message], ended_itself: bool) -> Ended:
    """Why a try ended, from its last message and whether its last token ends a turn."""
    last = messages[-1] if messages else {}
    if not ended_itself or last.get("role") != "assistant":
        return "cut_off"
    if last.get("tool_calls"):
        return "too_many_turns"
    return "malformed_call" if "<tool_call>" in str(last.get("content")) else "answered"


def rewarder(scenarios: dict[str, Scenario], end: int) -> Any:
    def reward(
        completions: list[list[Message]], completion_ids: list[list[int]], scenario: list[str], **_: Any
    ) -> list[float]:
        found = [
            reward_of(scenarios[name], messages, bool(ids) and ids[-1] == end)
            for name, messages, ids in zip(scenario, completions, completion_ids, strict=True)
        ]
        REWARDS.append(sum(found) / len(found))
        return found

    return reward


def watch(directory: Path, limit: float) -> Any:
    """A callback that keeps the time and the adapters, and ends the training."""
    from transformers import TrainerCallback

    class Race(TrainerCallback):
        def __init__(self) -> None:
            self.began = self.paused = 0.0
            self.adapters: list[desk_race.Adapter] = []

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.began = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            now = time.perf_counter()
            seconds = now - self.began - self.paused
            if state.global_step % desk_race.EVERY == 0:
                place = directory / f"{state.global_step:06d}"
                kwargs["model"].save_pretrained(place)
                self.adapters.append(desk_race.Adapter(state.global_step, seconds, str(place)))
            self.paused += time.perf_counter() - now
            control.should_training_stop = desk_race.is_over(REWARDS, seconds, limit)

    return Race()


def main() -> None:
    directory, options, setting = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
    set_threads(setting)
    scenarios = {one.id: one for one in desk_scenarios("train", desk_race.SCENARIOS, 0)}
    race = watch(directory / "theirs", options["limit"])
    tries, micro_batch = desk_race.GROUPS * desk_race.TRIES, setting["micro_batch"]
    made = tool_trainer(
        setting["model"],
        str(directory),
        setting,
        tools=[find_customers, find_orders],
        columns={
            "prompt": [desk_conversation(one) for one in scenarios.values()],
            "scenario": list(scenarios),
        },
        reward=rewarder(scenarios, setting["end"]),
        lora=(16, 32),
        callbacks=[race],
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=tries // micro_batch,
        num_generations=desk_race.TRIES,
        max_steps=desk_race.STEPS,
        learning_rate=setting["learning_rate"],
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": desk_race.FINAL_RATE},
        loss_type="cispo",
        epsilon=1.0,
        epsilon_high=5.0,
        scale_rewards="batch",
        adam_beta2=0.99,
        seed=options["seed"],
        **DESK_LIMITS,
    )
    made.train()
    told = {"adapters": [vars(one) for one in race.adapters], "rewards": REWARDS}
    print(json.dumps(told | {"tries": tries * len(REWARDS)}))


if __name__ == "__main__":
    main()
