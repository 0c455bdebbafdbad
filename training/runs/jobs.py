"""From Run rows to the frozen Job of the engine room, and what values its knobs may have.

Deciding whether a run may start is the services' business; this file only knows jobs.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from gpu_worker import algorithms
from gpu_worker.types import Job, Scenario
from training.models import LIVING, Agent, Run
from training.runs import versions
from training.runs.rows import clean


@dataclass(frozen=True)
class Range:
    """What a number may be, ends included; `empty` if it may also be left out."""

    low: float
    high: float
    whole: bool = True
    empty: bool = False

    def complaint(self, knob: str, value: object) -> str | None:
        """A sentence naming the knob and its range, or None when the value is fine."""
        if value is None and self.empty:
            return None
        kind = int if self.whole else (int, float)
        if isinstance(value, kind) and not isinstance(value, bool) and self.low <= value <= self.high:
            return None
        told = {"knob": knob, "low": f"{self.low:g}", "high": f"{self.high:g}", "value": f"{value!r:.40}"}
        if self.whole:
            return _("%(knob)s must be a whole number from %(low)s to %(high)s; it is %(value)s.") % told
        return _("%(knob)s must be a number from %(low)s to %(high)s; it is %(value)s.") % told


RANGES = {
    "seed": Range(0, 2**31 - 1),
    "steps": Range(1, 10_000),
    "groups_per_step": Range(1, 512),
    "group_size": Range(2, 64),
    "sampling_budget": Range(1, 8, whole=False),
    "samplers": Range(0, 16),
    "off_policy_steps": Range(0, 1),
    "max_turns": Range(1, 64),
    "max_tokens": Range(1, 8192),
    "max_context": Range(64, 131_072),
    "temperature": Range(0.05, 2, whole=False),
    "learning_rate": Range(1e-7, 0.1, whole=False),
    "final_learning_rate": Range(0, 1, whole=False),
    "weight_decay": Range(0, 1, whole=False),
    "max_grad_norm": Range(1e-3, 1e3, whole=False),
    "optimizer_steps": Range(1, 32),
    "lora_rank": Range(0, 256),
    "lora_alpha": Range(0.1, 1024, whole=False),
    "clip_low": Range(0, 1, whole=False, empty=True),
    "clip_high": Range(0, 100, whole=False, empty=True),
    "importance_cap": Range(1, 100, whole=False),
    "kl_coefficient": Range(0, 10, whole=False),
    "tie_tolerance": Range(0, 1, whole=False),
    "eval_every": Range(0, 10_000),
    "eval_scenarios": Range(1, 10_000),
    "val_scenarios": Range(0, 10_000),
    "keep_checkpoints": Range(1, 1000),
    "budget": Range(0, 100_000, whole=False),
    "second_look": Range(0, 1, whole=False),
    "most_dropped": Range(0, 1, whole=False),
}
TEXTS = {"base_model": 300, "system_prompt": 20_000, "judge_model": 200, "rubric": 20_000}
MIX = ("ruler", "checks", "environment", "length", "format")
SWITCHES = ("curriculum", "control")
CHOICES = {
    **algorithms.CHOICES,
    "sampler_dtype": ("float32", "bfloat16"),
    "reward": ("ruler", "checks", "environment", "mix"),
}


NOT_KNOBS = ("run", "directory", "scenarios", "tools")
"""What a job holds besides knobs; it has places of its own."""


def complaint(config: Mapping[str, Any]) -> str | None:
    """What is wrong with these knobs, in a sentence; None if nothing is."""
    for knob, value in config.items():
        found = _complaint(knob, value)
        if found:
            return found
    if config.get("max_tokens", 0) > config.get("max_context", Job.max_context):
        return _("max_tokens must not be larger than max_context.")
    return algorithms.refusal(replace(Job(run="", environment=""), **config))


def frozen_config(agent: Agent, config: Mapping[str, Any]) -> dict[str, Any]:
    """Every knob of the job with its value, so that later defaults or edits never change a run.

    The agent's own knobs stand in for defaults; `config` goes before both.
    """
    from_agent = {
        **agent.config,
        "environment": agent.environment,
        "system_prompt": agent.system_prompt,
        "base_model": agent.base_model,
        "judge_model": agent.judge_model,
        "rubric": agent.rubric,
    }
    knobs = asdict(Job(run="", **{**from_agent, **config}))
    return {name: value for name, value in knobs.items() if name not in NOT_KNOBS}


def frozen_scenarios(agent: Agent) -> list[dict[str, Any]]:
    """The agent's scenarios that are not in the bin as plain data, in the order they were made."""
    living = agent.scenarios.filter(LIVING).order_by("id")
    return [
        {"id": key, "split": split, "messages": messages, "expect": expect, "tags": tags, "rubric": rubric}
        for key, split, messages, expect, tags, rubric in living.values_list(
            "key", "split", "messages", "expect", "tags", "rubric"
        )
    ]


def job_for(run: Run) -> Job:
    """The frozen job of a run.

    `Job.run` is part of every seed, so it is not the run's own name: two runs of the same task with the
    same knobs and seed are the same training, to the last bit.
    """
    return Job(
        run=run.config["environment"],
        directory=str(settings.RUNS_DIR / str(run.pk) / "checkpoints"),
        scenarios=tuple(map(scenario, run.scenarios.values)),
        tools=versions.plans_of(run.version) if run.version else (),
        **run.config,
    )


def _complaint(knob: str, value: object) -> str | None:
    if knob in RANGES:
        return RANGES[knob].complaint(knob, value)
    if knob in TEXTS:
        if isinstance(value, str) and clean(value) != value:
            return _("%(knob)s holds NUL or half of a surrogate pair, which no text has.") % {"knob": knob}
        if isinstance(value, str) and len(value) <= TEXTS[knob]:
            return None
        told = {"knob": knob, "most": TEXTS[knob]}
        return _("%(knob)s must be a text of at most %(most)s characters.") % told
    if knob in SWITCHES:
        told = {"knob": knob, "value": f"{value!r:.40}"}
        return None if isinstance(value, bool) else _("%(knob)s is true or false; it is %(value)s.") % told
    if knob == "mix":
        return _mix_complaint(value)
    if knob in CHOICES:
        told = {"knob": knob, "known": ", ".join(CHOICES[knob]), "value": f"{value!r:.40}"}
        return (
            None
            if value in CHOICES[knob]
            else _("%(knob)s must be one of %(known)s; it is %(value)s.") % told
        )
    told = {"knob": f"{knob!r:.60}", "known": ", ".join([*RANGES, *SWITCHES, *CHOICES, *TEXTS])}
    return _("There is no knob %(knob)s; there are %(known)s.") % told


def _mix_complaint(value: object) -> str | None:
    weight = Range(0, 100, whole=False)
    if isinstance(value, dict) and all(
        source in MIX and weight.complaint("mix", given) is None for source, given in value.items()
    ):
        return None
    return _("mix gives each of %(known)s a weight from 0 to 100.") % {"known": ", ".join(MIX)}


def scenario(value: dict[str, Any]) -> Scenario:
    """A scenario from its frozen form."""
    return Scenario(
        id=value["id"],
        split=value["split"],
        messages=tuple(value["messages"]),
        expect=value["expect"],
        tags=tuple(value["tags"]),
        rubric=value.get("rubric", ""),
    )
