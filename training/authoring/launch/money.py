"""What the judge and simulated tools of a run will cost: questions times price, as a range in dollars."""

from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from gpu_worker.types import Job
from judging import offline
from training.judges import providers
from training.models import LIVING, Agent, Tool
from training.templatetags.figures import dollars, figure

JUDGE_PROMPT, JUDGE_PER_TRY = 700, 250
"""Tokens of a judge's question: instruction and rubric, and one try with its tool results."""
JUDGE_ANSWER, JUDGE_ANSWER_PER_TRY = 20, 60
TOOL_PROMPT, TOOL_ANSWER, CALLS_OF_A_TRY = 500, 80, 1.5
"""Tokens of a question to a simulated tool and of its answer; how often a try calls it."""
UNSURE = (0.5, 2.0)
"""Questions turn out shorter or longer, and some are put twice."""


@dataclass(frozen=True)
class Money:
    """`dollars` is a range, None where a price is unknown; `how` tells what was counted."""

    dollars: tuple[float, float] | None
    words: str
    how: list[str] = field(default_factory=list)


def needed(agent: Agent, job: Job, *, groups: tuple[float, float, float], examined: int) -> Money:
    """Of a run that plays so many groups a step (at least, probably, at most) and examines so many tries."""
    parts = [_judge(agent, job, groups, examined), *_tools(agent, job, groups, examined)]
    known = [part.dollars for part in parts if part.dollars is not None]
    how = [sentence for part in parts for sentence in part.how]
    if len(known) < len(parts):
        return Money(None, _("unknown"), how)
    low, high = sum(low for low, _high in known), sum(high for _low, high in known)
    return Money((low, high), words(low, high), how)


def words(low: float, high: float) -> str:
    """A range of dollars as people write it."""
    if high == 0:
        return dollars(0)
    told = {"low": dollars(low), "high": dollars(high)}
    return told["low"] if told["low"] == told["high"] else _("%(low)s to %(high)s") % told


def _judge(agent: Agent, job: Job, groups: tuple[float, float, float], examined: int) -> Money:
    if not providers.asks_judge(job.reward, job.mix):
        return Money((0.0, 0.0), dollars(0), [_("Checks give the reward; they cost nothing.")])
    if job.judge_model == offline.MODEL:
        return Money((0.0, 0.0), dollars(0), [_("The offline judge costs nothing.")])
    unchecked = _share_without_checks(agent) * examined
    asked = [job.steps * count + unchecked for count in groups]
    tries = [job.steps * count * job.group_size + unchecked for count in groups]
    return _priced(agent.owner, job.judge_model, _("judge"), asked, tries)


def _priced(owner: User, model: str, what: str, asked: list[float], tries: list[float]) -> Money:
    told = {"count": figure(round(asked[1])), "model": model, "what": what}
    price = providers.price_of(owner, model)
    if price is None:
        return Money(None, "", [_("Nobody here knows the price of %(model)s (%(what)s).") % told])
    low, high = (
        factor
        * price.of(
            asked[end] * JUDGE_PROMPT + tries[end] * JUDGE_PER_TRY,
            asked[end] * JUDGE_ANSWER + tries[end] * JUDGE_ANSWER_PER_TRY,
        )
        for end, factor in ((0, UNSURE[0]), (2, UNSURE[1]))
    )
    told |= {"question": f"{price.question * 1e6:.2f}", "answer": f"{price.answer * 1e6:.2f}"}
    sentence = _(
        "About %(count)s questions to %(model)s (%(what)s) at $%(question)s per million tokens asked and "
        "$%(answer)s answered."
    )
    return Money((low, high), "", [sentence % told])


def _tools(agent: Agent, job: Job, groups: tuple[float, float, float], examined: int) -> list[Money]:
    """Simulated tools that a language model plays."""
    found = []
    for tool in agent.tools.filter(LIVING, kind=Tool.Kind.SIMULATED):
        model = str(tool.settings.get("model") or "")
        if not model or model == offline.MODEL:
            continue
        calls = [CALLS_OF_A_TRY * (job.steps * n * job.group_size + examined) for n in groups]
        price = providers.price_of(agent.owner, model)
        told = {"count": figure(round(calls[1])), "model": model, "tool": tool.name}
        if price is None:
            found.append(Money(None, "", [_("Nobody here knows the price of %(model)s (%(tool)s).") % told]))
            continue
        low, high = (
            factor * calls[end] * price.of(TOOL_PROMPT, TOOL_ANSWER)
            for end, factor in ((0, UNSURE[0]), (2, UNSURE[1]))
        )
        how = _("About %(count)s questions to %(model)s, which plays the tool %(tool)s.") % told
        found.append(Money((low, high), "", [how]))
    return found


def _share_without_checks(agent: Agent) -> float:
    """Of the scenarios that measure: those that expect nothing need the judge."""
    held_out = agent.scenarios.filter(LIVING, split__in=("val", "test"))
    total = held_out.count()
    return held_out.filter(expect={}).count() / total if total else 0.0
