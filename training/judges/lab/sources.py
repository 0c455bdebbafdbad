"""Every way in which tries of some groups were scored: by you, by the run's judge, checks, and on trial."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from judging import offline
from training.judges.lab.agreement import Shown, Values, values_of
from training.models import Agent, Group, JudgeTrial, Ranking, RubricVersion, Score, Trajectory
from training.runs import words

YOU, RUN = "you", "run"
SEEDED, FLIPPED = "seeded", "flipped"
RECORDED = ("ruler", "checks", "environment", "mix")
"""Sources of a run's own scores that the lab shows, where a run has them."""


class Answer(NamedTuple):
    """What one question to a judge took, as training.models.JudgeTrial has it; `error` where it failed."""

    judging: Mapping[str, float | None]
    error: str


@dataclass
class Source:
    """One way of scoring. `values` by group; what a judge on trial said in other orders stands beside it."""

    key: str
    title: str
    rubric: str = ""
    values: dict[int, Values] = field(default_factory=dict)
    seeded: dict[int, Shown] = field(default_factory=dict)
    flipped: dict[int, Shown] = field(default_factory=dict)
    repeated: dict[int, list[Values]] = field(default_factory=lambda: defaultdict(list))
    answers: list[Answer] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.title} · {self.rubric}" if self.rubric else self.title


def sha256_of(rubric: str) -> str:
    """What tells rubrics apart; spaces at the ends do not."""
    return hashlib.sha256(rubric.strip().encode()).hexdigest()


def key_of(judge_model: str, rubric_sha256: str) -> str:
    return f"{judge_model} {rubric_sha256[:12]}"


def sources(groups: Sequence[Group], person: User, agent: Agent) -> list[Source]:
    """You first, then what the run recorded, then judges on trial in the order they were first asked."""
    ids = [group.pk for group in groups]
    you = Source(YOU, _("You"), values=by_hand(ids, person))
    return [you, *_recorded(groups), *on_trial(ids, person, agent)]


def by_hand(ids: Sequence[int], person: User) -> dict[int, Values]:
    """The person's ranking of each group; where there is none, scores of at least two of its tries."""
    found: dict[int, Values] = {}
    scored: dict[int, dict[int, float]] = defaultdict(dict)
    given = Trajectory.objects.filter(group__in=ids).exclude(human=None)
    for group, index, value in given.values_list("group_id", "index", "human"):
        scored[group][index] = value
    found.update({group: values for group, values in scored.items() if len(values) > 1})
    rankings = Ranking.objects.filter(owner=person, group__in=ids, withdrawn_at=None).order_by("id")
    found.update({group: values_of(places) for group, places in rankings.values_list("group_id", "places")})
    return found


def on_trial(ids: Sequence[int], person: User, agent: Agent) -> list[Source]:
    titles = rubric_titles(agent)
    found: dict[str, Source] = {}
    for trial in _trials(JudgeTrial.objects.filter(owner=person, group__in=ids)):
        key = key_of(trial.judge_model, trial.rubric_sha256)
        if key not in found:
            rubric = titles.get(trial.rubric_sha256) or _("a draft (%(mark)s)") % {
                "mark": trial.rubric_sha256[:6]
            }
            found[key] = Source(key, judge_title(trial.judge_model), rubric)
        _add(found[key], trial)
    return list(found.values())


def on_trial_by(ids: Sequence[int], person: User, judge_model: str, rubric_sha256: str) -> Source:
    """One judge by one rubric."""
    found = Source(judge_model, judge_title(judge_model))
    asked = JudgeTrial.objects.filter(
        owner=person, group__in=ids, judge_model=judge_model, rubric_sha256=rubric_sha256
    )
    for trial in _trials(asked):
        _add(found, trial)
    return found


def reasons(group: Group, person: User) -> dict[str, dict[int, str]]:
    """Key of a source → index of a try of the group → why it was scored so."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    told = _recorded_scores([group.pk]).values_list("source", "trajectory__index", "explanation")
    for name, index, why in told:
        found[name][index] = why
    ranking = JudgeTrial.objects.filter(owner=person, group=group, order=SEEDED, repeat=0, error="")
    judged = ranking.order_by("id").values_list("judge_model", "rubric_sha256", "scores")
    for judge_model, rubric_sha256, scores in judged:
        whys = {int(index): str(told[1]) for index, told in scores.items()}
        found[key_of(judge_model, rubric_sha256)] = whys
    return found


@dataclass(frozen=True)
class Rubric:
    """A text that judges can be asked by. The default one is empty."""

    title: str
    text: str

    @property
    def sha256(self) -> str:
        return sha256_of(self.text)


def rubrics(agent: Agent) -> list[Rubric]:
    """The default, then what was saved, newest first, then the agent's own where it was not saved here."""
    saved = RubricVersion.objects.filter(agent=agent).values_list("number", "text")
    found = [Rubric(_("default rubric"), "")]
    found += [Rubric(_("rubric %(number)s") % {"number": number}, text) for number, text in saved]
    if sha256_of(agent.rubric) not in {rubric.sha256 for rubric in found}:
        found.append(Rubric(_("the agent's rubric"), agent.rubric))
    return found


def rubric_titles(agent: Agent) -> dict[str, str]:
    """sha256 of a rubric → what it is called; of two versions with one text the older."""
    return {rubric.sha256: rubric.title for rubric in rubrics(agent)}


def judge_title(judge_model: str) -> str:
    return words.judge_name(offline.TITLE) if judge_model == offline.MODEL else judge_model


class _Trial(NamedTuple):
    """A JudgeTrial without its long texts."""

    group: int
    judge_model: str
    rubric_sha256: str
    order: str
    repeat: int
    positions: Sequence[Sequence[int]]
    scores: Mapping[str, tuple[float, str]]
    judging: Mapping[str, float | None]
    error: str


def _trials(asked: QuerySet[JudgeTrial]) -> Iterator[_Trial]:
    """One at a time, so that what judges gave as reasons is let go as it comes."""
    columns = ("group_id", *_Trial._fields[1:])
    return (_Trial(*row) for row in asked.order_by("id").values_list(*columns).iterator())


def _add(source: Source, trial: _Trial) -> None:
    source.answers.append(Answer(trial.judging, trial.error))
    if trial.error:
        return
    values = {int(index): float(told[0]) for index, told in trial.scores.items()}
    if trial.repeat:
        source.repeated[trial.group].append(values)
    elif trial.order == FLIPPED:
        source.flipped[trial.group] = Shown(trial.positions, values)
    else:
        source.seeded[trial.group] = Shown(trial.positions, values)
        source.values[trial.group] = values


def _recorded(groups: Sequence[Group]) -> list[Source]:
    found = {name: Source(name, _title(name, groups)) for name in RECORDED}
    rows = _recorded_scores([group.pk for group in groups])
    values: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    told = rows.values_list("source", "trajectory__group_id", "trajectory__index", "value")
    for name, group, index, value in told:
        values[name, group][index] = value
    for (name, group), scored in values.items():
        found[name].values[group] = scored
    return [found[name] for name in RECORDED if found[name].values]


def _recorded_scores(ids: Sequence[int]) -> QuerySet[Score]:
    return Score.objects.filter(trajectory__group__in=ids, source__in=RECORDED).order_by("id")


def _title(name: str, groups: Iterable[Group]) -> str:
    if name != "ruler":
        return str(words.SOURCES.get(name, name))
    judges = {group.judge for group in groups}
    judge = words.judge_name(judges.pop()) if len(judges) == 1 else ""
    return _("The run's judge (%(judge)s)") % {"judge": judge} if judge else _("The run's judge")
