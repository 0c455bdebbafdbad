"""RULER: an LLM scores the tries of one group against each other, and each score reaches its own try.

A question is put once; an answer that cannot be used is sent back to be mended once; then the question is
put afresh once, with new ids in a new order; then the group is given up (JudgeFailed) and the loop counts
it. Large groups are several questions at once (panels.py). Where scores lie close, everything is asked a
second time in reverse order and averaged, because judges favour places. Prompt and answer are prompt.py's
and answers.py's business.
"""

import asyncio
import re
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_worker.types import Group, JudgeFailed, Judging, Message, Score
from judging import offline
from judging.answers import LONGEST_EXPLANATION, BadAnswer, Verdicts, read_answer
from judging.llm import Model, NoAnswer
from judging.panels import Values, averaged, close, joined, seated
from judging.prompt import SCHEMA, Draft, Prompt, compose, draft, shuffled
from judging.rubric import DEFAULT

ROUNDS = 2
"""How often the whole question is put; each time with one chance to mend the answer."""
SENT_BACK = 20_000
"""Characters of a bad answer that its author is shown again."""


@dataclass(frozen=True)
class Judgement:
    """A score for each trajectory, in order, and what it took."""

    scores: list[Score]
    judging: Judging
    shown: tuple[tuple[int, ...], ...] = ()
    """Of each panel, the trajectories in the order in which the judge read them; of like ones the first."""


@dataclass
class _Sitting:
    """One group before its judge: the question as drafted, and the bill so far."""

    model: Model
    written: Draft
    seed: str
    begun: float = field(default_factory=time.monotonic)
    calls: int = 0
    cached: int = 0
    cost: float | None = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    said: dict[int, str] = field(default_factory=dict)
    """What the judge said of each try when it was first asked."""

    async def ask(self, messages: Sequence[Message]) -> str:
        answer = await self.model.ask(messages, SCHEMA)
        self.calls += 1
        self.cached += answer.cached
        self.cost = None if self.cost is None or answer.cost is None else self.cost + answer.cost
        self.prompt_tokens += answer.prompt_tokens
        self.answer_tokens += answer.answer_tokens
        return answer.text

    def bill(self, second_look: bool) -> Judging:
        seconds = time.monotonic() - self.begun
        tokens = (self.prompt_tokens, self.answer_tokens)
        return Judging(self.calls, self.cached, seconds, self.cost, *tokens, second_look)


async def judge_group(
    group: Group,
    *,
    model: Model,
    rubric: str = "",
    seed: str = "",
    second_look: float = 0.0,
    flipped: bool = False,
) -> Judgement:
    """A score for each trajectory, in order. Tries that read the same are judged once. Raises JudgeFailed.

    Same group and same seed: same prompts to the letter. Where scores lie closer than `second_look` they are
    the mean of two passes; should the second fail, the first counts. The rubric is used as it is given, an
    empty one is the default. `flipped` shows the tries in the reverse of their order. May also raise what no
    further group would survive: llm.Refused (a wrong key, an unknown model) and spending.BudgetSpent.
    """
    if not group.trajectories:
        return Judgement([], Judging())
    sitting = _Sitting(model, draft(group, rubric or DEFAULT), seed)
    order = shuffled(sitting.written, seed)
    blind = model.name == offline.MODEL
    panels = [order] if blind else seated(sitting.written, order)
    if flipped:
        panels = [panel[::-1] for panel in panels]
    values = await _pass(sitting, panels, "")
    again = not blind and close(values, second_look)
    if again:
        try:
            second = await _pass(sitting, [panel[::-1] for panel in panels], "/reverse")
            values = averaged(values, second)
        except JudgeFailed:
            again = False
    shown = tuple(tuple(sitting.written.members[place][0] for place in panel) for panel in panels)
    return Judgement(_spread(values, sitting, len(group.trajectories)), sitting.bill(again), shown)


async def ruler(
    group: Group, *, model: Model, rubric: str = "", seed: str = "", second_look: float = 0.0
) -> list[Score]:
    """The scores of judge_group alone."""
    return (await judge_group(group, model=model, rubric=rubric, seed=seed, second_look=second_look)).scores


async def _pass(sitting: _Sitting, panels: Sequence[Sequence[int]], suffix: str) -> Values:
    """All panels at once; their scales are joined."""
    asked = [_panel(sitting, panel, f"{sitting.seed}{suffix}/{seat}") for seat, panel in enumerate(panels)]
    return joined(await _together(asked))


async def _together(asked: Sequence[Coroutine[Any, Any, Values]]) -> list[Values]:
    """As asyncio.gather, but where one fails the others are not asked any further."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _panel(sitting: _Sitting, places: Sequence[int], seed: str) -> Values:
    problem = ""
    for question in range(ROUNDS):
        order = places if question == 0 else [*places[1::2], *places[::2]]
        prompt = compose(sitting.written, order, f"{seed}/{question}")
        try:
            verdicts = await _verdicts(sitting, prompt)
        except BadAnswer as error:
            problem = f"The judge's answer could not be used: {error}."
        except NoAnswer as error:
            raise JudgeFailed(str(error)) from error
        else:
            for try_id, place in prompt.ids.items():
                sitting.said.setdefault(place, _plainly(verdicts[try_id][1], prompt, sitting.written))
            return {place: verdicts[try_id][0] for try_id, place in prompt.ids.items()}
    raise JudgeFailed(problem)


async def _verdicts(sitting: _Sitting, prompt: Prompt) -> Verdicts:
    text = await sitting.ask(prompt.messages)
    try:
        return read_answer(text, prompt.ids)
    except BadAnswer as error:
        mended = await sitting.ask([*prompt.messages, *_send_back(text, str(error))])
        return read_answer(mended, prompt.ids)


def _send_back(text: str, problem: str) -> list[Message]:
    return [
        {"role": "assistant", "content": text[:SENT_BACK] or "(empty)"},
        {
            "role": "user",
            "content": f"That answer cannot be used: {problem[:LONGEST_EXPLANATION]}. "
            "Write it again: only the JSON, every id exactly once, every score a number between 0 and 1.",
        },
    ]


def _plainly(explanation: str, prompt: Prompt, written: Draft) -> str:
    """Ids mean nothing to people: they read the number of the try instead."""
    ids = re.compile(r"\b(?:try )?(" + "|".join(prompt.ids) + r")\b")
    return ids.sub(lambda said: f"try {written.members[prompt.ids[said[1]]][0] + 1}", explanation)


def _spread(values: Mapping[int, float], sitting: _Sitting, count: int) -> list[Score]:
    """Hand each verdict to all tries that read the same."""
    scores = [Score("ruler", 0.0)] * count
    for place, members in enumerate(sitting.written.members):
        for member in members:
            scores[member] = Score("ruler", values[place], sitting.said[place])
    return scores
