"""The errand "smoke": a few tries with the untrained model, and what they say about the scenarios.

Only the desk does it, in a process of its own (smoke_tries.py), so that the desk never keeps torch.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from training.authoring.office.errands import Doing, Failed
from training.authoring.office.program import Died, told_by
from training.models import Agent
from training.review.transcript import Turn, shared_start, turns
from training.runs import fitness, words

WHAT = {
    "loading": gettext_lazy("Loading the model"),
    "playing": gettext_lazy("Tries played"),
    "judging": gettext_lazy("Tries judged"),
}


def smoke(doing: Doing) -> dict[str, Any]:
    """Play the agent's smoke try; the result is that of smoke_tries. Raises Failed with a sentence."""
    refused = fitness.complaint(doing.agent)
    if refused:
        raise Failed(refused)
    if not doing.agent.scenarios.filter(split="train", deleted_at=None).exists():
        raise Failed(_("There are no scenarios to practise on yet; add some first."))
    try:
        with closing(told_by("training.authoring.launch.smoke_tries", str(doing.agent.pk))) as telling:
            return {**_followed(telling, doing), "edits": doing.agent.edits}
    except Died as died:
        raise Failed(_("The smoke try ended unexpectedly: %(said)s") % {"said": died}) from died


def _followed(telling: Iterable[Mapping[str, Any]], doing: Doing) -> Mapping[str, Any]:
    done, total, what, cost = 0, 0, str(WHAT["loading"]), 0.0
    result: Mapping[str, Any] = {}
    for told in telling:
        if "result" in told:
            result = told["result"]
            break
        if "failed" in told:
            raise Failed(told["failed"])
        if told:
            done, total, what = told["done"], told["total"], str(WHAT[told["what"]])
            cost = told.get("cost", 0.0)
        doing.progress(done, total, what, cost=cost)
    return result


@dataclass(frozen=True)
class ShownTry:
    """One try, ready for the partials of the review pages."""

    number: int
    reward: float
    success: bool
    ended: str
    answered: bool
    note: str
    turns: list[Turn]


@dataclass(frozen=True)
class ShownGroup:
    scenario: str
    tied: bool
    successes: int
    start: list[Turn]
    tries: list[ShownTry]


@dataclass(frozen=True)
class Verdict:
    """What the smoke try says. `tone` is good, warn or bad."""

    share: float
    tone: str
    word: str
    advice: str


def groups_of(result: Mapping[str, Any]) -> list[ShownGroup]:
    """The groups of a result; what all tries of a group begin with is told once."""
    return [_group(group) for group in result.get("shown", ())]


def verdict(result: Mapping[str, Any]) -> Verdict:
    """Whether the scenarios are too easy, too hard or useful for this model, and what to do."""
    groups, tied = max(1, result["groups"]), result["tied"]
    share, solved = tied / groups, result["successes"] / max(1, result["tries"])
    if share <= 0.5:
        advice = _("Tries at the same scenario differ, so there is something to learn from. Go on.")
        return Verdict(share, "good", _("useful"), advice)
    if solved >= 0.9:
        advice = _(
            "Nearly every try succeeds already. Add harder scenarios, or those the agent gets wrong: more "
            "steps would teach it little."
        )
        return Verdict(share, "warn", _("too easy"), advice)
    if solved <= 0.1:
        advice = _(
            "Hardly any try succeeds. Add easier scenarios or show in the prompt how it is done; training "
            "can still work when a few tries succeed now and then."
        )
        return Verdict(share, "bad", _("too hard"), advice)
    advice = _(
        "Most groups are tied: each scenario is always or never solved. More tries at each scenario, a "
        "higher temperature or a wider mix of scenarios bring differences to learn from."
    )
    return Verdict(share, "warn", _("mostly tied"), advice)


def stale(agent: Agent, result: Mapping[str, Any]) -> bool:
    """Whether the agent has changed since, so that a new smoke try might look different."""
    return bool(result.get("edits") != agent.edits or result.get("base_model") != agent.base_model)


def _group(group: Mapping[str, Any]) -> ShownGroup:
    conversations = [one["messages"] for one in group["tries"]]
    alike = shared_start(conversations)
    tries = [
        ShownTry(
            number=number,
            reward=one["reward"],
            success=one["success"],
            ended=str(words.ENDED.get(one["ended"], one["ended"])),
            answered=one["ended"] == "answered",
            note=one["note"],
            turns=turns(one["messages"][alike:], first=alike),
        )
        for number, one in enumerate(group["tries"], 1)
    ]
    start = turns(conversations[0][:alike]) if conversations else []
    return ShownGroup(group["scenario"], group["tied"], group["successes"], start, tries)
