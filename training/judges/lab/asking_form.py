"""What somebody ticks to have a group judged: which judges, by which rubrics, how often, for how much."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.translation import gettext as _

from judging import offline
from training.authoring.launch.budget_views import dollars_of
from training.judges import providers
from training.judges.lab.questions import MOST_REPEATS, Hearing
from training.judges.lab.queue import Selection
from training.judges.lab.sources import judge_title, rubrics, sha256_of
from training.models import Run
from training.runs import services

MOST_JUDGES = 8
LONGEST_NAME = 200
USUAL_CAP = "1"


class NotAsked(ValueError):
    """Nobody can be asked like this. The sentence says what to change."""


@dataclass(frozen=True)
class Choice:
    value: str
    title: str
    chosen: bool


@dataclass(frozen=True)
class Asking:
    """What the form shows."""

    judges: list[Choice]
    rubrics: list[Choice]
    repeats: range = range(MOST_REPEATS + 1)
    cap: str = USUAL_CAP


def asking(run: Run, person: User) -> Asking:
    """The run's own judge and rubric are ticked."""
    judge = str(run.config.get("judge_model") or run.agent.judge_model)
    rubric = sha256_of(str(run.config.get("rubric") or ""))
    known = dict(judges_of(run, person))
    texts = rubrics(run.agent)
    chosen = rubric if rubric in {one.sha256 for one in texts} else texts[0].sha256
    return Asking(
        judges=[Choice(value, title, value == judge) for value, title in known.items()],
        rubrics=[Choice(one.sha256, one.title, one.sha256 == chosen) for one in texts],
    )


def judges_of(run: Run, person: User) -> list[tuple[str, str]]:
    """(name, title): what the person's providers offer, and the judges of the run and of its agent."""
    known = dict(providers.offered(person))
    for own in (run.config.get("judge_model"), run.agent.judge_model, offline.MODEL):
        if own:
            known.setdefault(str(own), judge_title(str(own)))
    return list(known.items())


def hearing(form: QueryDict, run: Run, selection: Selection, person: User) -> Hearing:
    """Raises NotAsked."""
    texts = {one.sha256: one.text for one in rubrics(run.agent)}
    chosen = [texts[sha] for sha in dict.fromkeys(form.getlist("rubric")) if sha in texts]
    if not chosen:
        raise NotAsked(_("Choose at least one rubric."))
    if not selection.ids:
        raise NotAsked(_("This run has no group yet whose tries were scored differently."))
    return Hearing(
        groups=selection.ids,
        judges=_judges([*form.getlist("judge"), form.get("other", "")], person),
        rubrics=chosen,
        flips="flips" in form,
        repeats=_repeats(form.get("repeats", "")),
    )


def one_judge(name: str, person: User) -> str:
    """A judge by its name. Raises NotAsked."""
    return _judges([name], person)[0]


def cap(form: QueryDict) -> float:
    """The most dollars; 0 for no limit. Raises NotAsked."""
    try:
        return dollars_of(form.get("cap", "").strip() or "0")
    except services.Refused as refused:
        raise NotAsked(str(refused)) from refused


def _judges(names: list[str], person: User) -> list[str]:
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not wanted:
        raise NotAsked(_("Choose at least one judge."))
    if len(wanted) > MOST_JUDGES:
        raise NotAsked(_("At most %(most)s judges are compared at a time.") % {"most": MOST_JUDGES})
    for name in wanted:
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise NotAsked(_("A judge's name has at most %(most)s characters.") % {"most": LONGEST_NAME})
        refused = providers.refusal(person, name)
        if refused:
            raise NotAsked(refused)
    return wanted


def _repeats(text: str) -> int:
    return min(MOST_REPEATS, int(text)) if text.isdecimal() and len(text) < 4 else 0
