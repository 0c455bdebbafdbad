"""A made-up training, report by report, as the loop would tell it: for pages, screenshots and browser tests.

Nothing is sampled; what is said is a function of the numbers given. It goes through the real Recorder.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import replace

from gpu_worker.types import (
    CheckpointFile,
    Evaluated,
    Evaluation,
    Group,
    GroupDropped,
    GroupJudged,
    Judging,
    Log,
    Message,
    Outcome,
    PhaseChanged,
    Progress,
    Report,
    Scenario,
    Score,
    Segment,
    StepDone,
    Summary,
    ToolSpec,
    Trajectory,
)
from judging import offline
from training.models import Run
from training.runs import headline, lease
from training.runs.recorder import Recorder

QUESTIONS = [
    "Hi, I ordered something last week and it still isn't here. The number is {order}. Where is it?",
    "What did order {order} cost me in the end?",
    "Could you check who {order} is being shipped to? I moved house.",
    "Please look up my latest order, my e-mail is {mail}.",
    "my order {order} hasn't shown up, any idea what is going on",
]
TOOLS = (
    ToolSpec("find_order", "Looks an order up by the value of one column; at most 5 rows back.", {}),
    ToolSpec("find_customer", "Looks a customer up by the value of one column; at most 5 rows back.", {}),
)
SYSTEM = "You help the customers of a small shop. Look things up before you answer, and answer briefly."


def scenario(number: int) -> Scenario:
    order = f"OR-{20000 + number * 37 % 9973}"
    mail = f"customer{number}@example.com"
    question = QUESTIONS[number % len(QUESTIONS)].format(order=order, mail=mail)
    messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": question})
    return Scenario(f"s{number}", "train", messages, {"answer_has": [["shipped"]]})


def trajectory(task: Scenario, index: int, success: bool, dice: random.Random) -> Trajectory:
    """One try: a look-up, its result, an answer; a failed one answers without looking or calls nonsense."""
    ended = "answered" if success or dice.random() < 0.7 else "malformed_call"
    said = [*task.messages, *(_good() if success else _poor(ended))]
    checks = 1.0 if success else 0.0
    ruler = round(min(1.0, max(0.0, (0.85 if success else 0.2) + dice.uniform(-0.12, 0.12))), 2)
    why = (
        "Looked the order up once and answered from the row, with the carrier and the day."
        if success
        else "Answered without looking anything up, so the date is made up."
    )
    sampled = 30 + dice.randrange(30)
    mask = (False,) * 20 + (True,) * sampled
    segment = Segment(
        ids=tuple(5 + (index * 7 + place * 13) % 300 for place in range(len(mask))),
        logprobs=tuple(-4 * dice.random() ** 3 if drawn else 0.0 for drawn in mask),
        mask=mask,
    )
    return Trajectory(
        scenario_id=task.id,
        index=index,
        messages=tuple(said),
        segments=(segment,),
        ended=ended,  # type: ignore[arg-type]
        note="" if ended == "answered" else "The arguments are not JSON: expected ',' at position 31.",
        turns=2 if success else 1,
        scores=(
            Score("ruler", ruler, why),
            Score("checks", checks, "" if success else "“shipped” is missing."),
        ),
        reward=ruler,
        success=success,
    )


def _good() -> list[Message]:
    call = {
        "id": "c1",
        "type": "function",
        "function": {
            "name": "find_order",
            "arguments": json.dumps({"column": "order_id", "value": "OR-20037"}),
        },
    }
    row = (
        '[{"order_id": "OR-20037", "status": "shipped", "carrier": "DHL", "total": "84.90", "city": "Lyon"}]'
    )
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": row},
        {
            "role": "assistant",
            "content": "It was shipped with DHL on Tuesday and should reach Lyon tomorrow.",
        },
    ]


def _poor(ended: str) -> list[Message]:
    if ended == "answered":
        return [{"role": "assistant", "content": "Your order is on its way and arrives soon."}]
    return [
        {"role": "assistant", "content": '<tool_call>{"name": "find_order", "arguments": {"column" "status"}'}
    ]


def judged(step: int, index: int, skill: float, *, size: int = 8, seed: int = 0) -> GroupJudged:
    dice = random.Random(f"{seed} {step} {index}")
    task = scenario(step * 100 + index)
    played = (trajectory(task, place, dice.random() < skill, dice) for place in range(size))
    tries = tuple(replace(one, policy_step=step - 1) for one in played)
    group = Group(step, index, task, TOOLS, tries, judge=offline.TITLE)
    return GroupJudged(group, "train", "train", tied=len({t.reward for t in tries}) == 1)


def held_out(label: str, step: int, index: int, skill: float) -> GroupJudged:
    dice = random.Random(f"{label} {index}")
    task = scenario(70_000 + index)
    tries = (trajectory(task, 0, dice.random() < skill, dice),)
    group = Group(step, index, task, TOOLS, tries, judge=offline.TITLE)
    return GroupJudged(group, "test", label, tied=False)  # type: ignore[arg-type]


def evaluation(label: str, step: int, skill: float, count: int) -> Iterator[Report]:
    outcomes = []
    for index in range(count):
        tried = held_out(label, step, index, skill)
        one = tried.group.trajectories[0]
        outcomes.append(Outcome(one.scenario_id, one.success, one.reward))
        if label != "validation":
            yield tried
    split = "val" if label == "validation" else "test"
    yield Evaluated(Evaluation(label, step, split, tuple(outcomes)))  # type: ignore[arg-type]


def step_done(step: int, skill: float, groups: int) -> StepDone:
    metrics = {
        "reward": 0.18 + 0.68 * skill,
        "reward_std": 0.3 * (1 - skill) + 0.05,
        "success": skill,
        "checks": 0.22 + 0.7 * skill,
        "ruler": 0.18 + 0.68 * skill,
        "judge_calls": 2.0 * groups,
        "judge_cached": float(step % 2),
        "judge_tokens": 5200.0 * groups,
        "judge_cost": 0.0031 * groups + 0.0005 * (step % 3),
        "tied_groups": float(step % 4 % groups),
        "dropped_groups": 0.0,
        "groups": float(groups),
        "truncated": 0.12 * (1 - skill),
        "malformed": 0.3 * (1 - skill),
        "resting_scenarios": float(3 * step),
        "loss": -0.02,
        "grad_norm": 0.4 + 0.1 * (step % 3),
        "entropy": 0.9 - 0.6 * skill,
        "clip_fraction": 0.004 * (step % 3),
        "ratio_p01": 0.93 - 0.01 * (step % 4),
        "ratio_p50": 1.0,
        "ratio_p99": 1.06 + 0.02 * (step % 3),
        "ratio_max": 1.4,
        "kl": 0.012 * step,
        "tokens_sampled": 5400.0,
        "tokens_tied": 5400.0 * (step % 4 % groups) / groups,
        "tokens_trained": 5100.0,
        "nodes": 7300.0,
        "tokens_per_second": 5400.0 / (2.8 + 0.3 * (step % 5)),
        "seconds": 2.8 + 0.3 * (step % 5),
        "sample_seconds": 1.6 + 0.2 * (step % 5),
        "judge_seconds": 0.2,
        "learn_seconds": 0.8 + 0.1 * (step % 5),
        "idle_seconds": 0.2,
        "skipped": 0.0,
        "learning_rate": 0.0015 * (1 - 0.02 * step),
    }
    advantages = {index: tuple(0.4 - 0.1 * place for place in range(8)) for index in range(groups)}
    file = CheckpointFile(step, f"checkpoints/{step:06}", f"{step:064x}", 1_200_000)
    return StepDone(step, metrics, advantages, file)


def training(steps: int, groups: int = 4, tries: int = 40, stop_after: int | None = None) -> Iterator[Report]:
    """The reports of a run whose agent gets better; ends inside the step after `stop_after`."""
    yield PhaseChanged("preparing")
    yield Log("info", "The model has 6.3 million parameters; LoRA adds 0.4 million.", "model")
    yield PhaseChanged("baseline")
    yield from evaluation("baseline", 0, 0.38, tries)
    yield PhaseChanged("training")
    for step in range(1, steps + 1):
        skill = 0.38 + 0.57 * (step / steps) ** 0.7
        for index in range(groups):
            yield judged(step, index, skill)
            if stop_after is not None and step > stop_after and index == groups // 2:
                yield Progress(step, 19, 8 * groups, "rollouts")
                return
        if step == 2:
            yield GroupDropped(step, groups, "s204", "the judge gave no usable answer twice")
        yield step_done(step, skill, groups)
        if step % 5 == 0 and step < steps:
            yield from evaluation("validation", step, skill, 48)
    yield PhaseChanged("evaluating", steps)
    yield from evaluation("trained", steps, 0.94, tries)


def wide(size: int, turns: int, step: int = 1, index: int = 0) -> GroupJudged:
    """A group whose tries look things up for `turns` turns and then answer; each strays from the first."""
    task = scenario(step * 100 + index)
    tries = []
    for place in range(size):
        dice = random.Random(f"wide {place}")
        said = [*task.messages]
        for turn in range(turns - 1):
            stray = place and dice.random() < 0.3
            order = f"OR-{20000 + turn * 37 + (place if stray else 0)}"
            arguments = {"column": "order_id", "value": order, "note": f"look-up {turn} of the order"}
            function = {"name": "find_order", "arguments": json.dumps(arguments)}
            rows = [
                {"order_id": order, "status": "shipped", "carrier": "DHL", "city": "Lyon", "line": line}
                for line in range(4)
            ]
            said += [
                {
                    "role": "assistant",
                    "content": f"I look up {order}.",
                    "tool_calls": [{"id": "c", "function": function}],
                },
                {"role": "tool", "tool_call_id": "c", "content": json.dumps(rows)},
            ]
        said.append(
            {"role": "assistant", "content": f"It was shipped with DHL and arrives in {place + 1} days."}
        )
        value = round(0.95 - 0.05 * place, 2)
        why = "It says “shipped with DHL and arrives” after many look-ups."
        segment = Segment((5, 6), (-0.1, -0.2), (True, True))
        scores = (Score("ruler", value, why), Score("checks", 1.0))
        told = Trajectory(task.id, place, tuple(said), (segment,), "answered", turns=turns, scores=scores)
        tries.append(replace(told, reward=value, success=True))
    judging = Judging(
        calls=2, seconds=3.2, cost=0.004, prompt_tokens=9000, answer_tokens=700, second_look=True
    )
    group = Group(step, index, task, TOOLS, tuple(tries), judge="openai/some-judge", judging=judging)
    return GroupJudged(group, "train", "train", tied=False)


def saying(text: str) -> GroupJudged:
    """A group in which everybody says `text`: the customer, the agent, the tool, the judge."""
    task = Scenario(
        text[:40], "train", ({"role": "system", "content": text}, {"role": "user", "content": text})
    )
    function = {"name": text, "arguments": json.dumps({text: text})}
    said = (
        *task.messages,
        {"role": "assistant", "content": text, "tool_calls": [{"id": text, "function": function}]},
        {"role": "tool", "tool_call_id": text, "content": text},
    )
    segment = Segment((5, 6), (-0.1, -0.2), (True, True))
    scores = (Score("ruler", 0.5, text), Score("checks", 0.0, text))
    tries = tuple(
        Trajectory(text, index, said, (segment,), "malformed_call", note=text, turns=1, scores=scores)
        for index in range(2)
    )
    return GroupJudged(
        Group(1, 0, task, (ToolSpec(text, text, {}),), tries, judge=text), "train", "train", tied=True
    )


def tell(run: Run, reports: Iterator[Report], *, end: str = "") -> Run:
    """Record reports under a lease of our own; `end` is the run's last state, if it has one."""
    held = lease.claim(run.pk)
    assert held is not None
    with Recorder(held) as record:
        for report in reports:
            record(report)
        run.refresh_from_db()
        if end:
            record.end(end, end, **({"summary": summary(run)} if end == Run.State.DONE else {}))
    run.refresh_from_db()
    return run


def summary(run: Run) -> dict[str, object]:
    told = Summary("done", run.steps, 0, 96.4, None, None, "0" * 64)
    return headline.of(run, told)


def long(tokens: int, turns: int = 8) -> GroupJudged:
    """A group of one try of `tokens` tokens: `turns` turns, each a third of what it was given before."""
    told = wide(1, turns)
    task, one = told.group.scenario, told.group.trajectories[0]
    dice = random.Random(f"long {tokens}")
    given = tokens * 3 // (4 * turns)
    mask = ((False,) * given + (True,) * (tokens // turns - given)) * turns
    mask += (True,) * (tokens - len(mask))
    segment = Segment(
        ids=tuple(5 + dice.randrange(1500) for _ in mask),
        logprobs=tuple(-6 * dice.random() ** 4 if drawn else 0.0 for drawn in mask),
        mask=mask,
    )
    tries = (replace(one, segments=(segment,)),)
    return GroupJudged(replace(told.group, scenario=task, trajectories=tries), "train", "train", tied=False)
