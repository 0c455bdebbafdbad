"""The errand "judge_lab": judges, with rubrics, asked about groups; each answer is kept as it comes.

The first answers wanted are those that rank; the other way round and once more come after. What would stop
every further question stops the errand with a sentence; what was answered until then stays.
"""

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import groupby
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from gpu_worker.tools import aside
from gpu_worker.types import Group, JudgeFailed
from judging.llm import Model, Refused
from judging.ruler import Judgement
from judging.spending import BudgetSpent, Purse
from training import models
from training.authoring.office.errands import Doing, Failed
from training.judges import providers
from training.judges.lab import trials
from training.judges.lab.questions import Question, hearing_of, unanswered
from training.judges.lab.sources import judge_title
from training.templatetags.figures import roughly

AT_ONCE = 24
"""Groups in hand at a time; how many questions a provider takes is its own business."""
LOOK_EVERY = 2.0
"""Seconds between two looks at whether anybody still wants it."""


def judge_lab(doing: Doing) -> dict[str, Any]:
    """Ask what nobody has an answer to yet. `cap` is the most dollars it may cost, 0 for no limit."""
    questions = unanswered(doing.owner, hearing_of(doing.arguments).questions())
    purse = Purse(float(doing.arguments.get("cap", 0.0)))
    sitting = _Sitting(doing, questions, purse)
    try:
        sitting.sit()
    except (Refused, BudgetSpent, providers.NoProvider) as fatal:
        raise Failed(str(fatal)) from fatal
    finally:
        sitting.rise()
    return {
        "asked": len(questions),
        "failed": sitting.failed,
        "cost": purse.spent,
        "unpriced": purse.unpriced,
    }


class _Sitting:
    """Questions in hand and those to come. Rows are only touched in the errand's own thread."""

    def __init__(self, doing: Doing, questions: list[Question], purse: Purse) -> None:
        self._doing, self._purse = doing, purse
        self._total = len(questions)
        self._done = 0
        self.failed = 0
        self._begun = time.monotonic()
        self._models: dict[str, Model] = {}
        self._hand: dict[Future[Judgement], tuple[Question, Group]] = {}
        self._to_come = self._ready(questions)

    def sit(self) -> None:
        self._tell("")
        self._fill()
        while self._hand:
            over, _rest = wait(self._hand, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            title = ""
            for future in over:
                title = self._keep(future)
            self._tell(title)
            self._fill()

    def rise(self) -> None:
        """Nobody is asked any further."""
        for future in self._hand:
            future.cancel()

    def _fill(self) -> None:
        for question, group in self._to_come:
            model = self._model(question.judge_model)
            self._hand[aside.begin(trials.asked(question, group, model))] = question, group
            if len(self._hand) >= AT_ONCE:
                return

    def _keep(self, future: Future[Judgement]) -> str:
        question, group = self._hand.pop(future)
        owner = self._doing.owner
        self._done += 1
        try:
            trials.keep(owner, question, group, future.result())
        except (JudgeFailed, TimeoutError) as failed:
            self.failed += 1
            trials.keep_failure(owner, question, failed)
        return judge_title(question.judge_model)

    def _tell(self, title: str) -> None:
        what = _("Judging")
        if title and self._done < self._total:
            left = (time.monotonic() - self._begun) / self._done * (self._total - self._done)
            what = _("%(judge)s; about %(left)s left") % {"judge": title[:80], "left": roughly(left)}
        self._doing.progress(self._done, self._total, what, cost=self._purse.spent)

    def _model(self, judge_model: str) -> Model:
        if judge_model not in self._models:
            access = providers.access_for(self._doing.owner, judge_model)
            self._models[judge_model] = Model(access, purse=self._purse)
        return self._models[judge_model]

    def _ready(self, questions: list[Question]) -> Iterator[tuple[Question, Group]]:
        """Each with its group, read when its turn comes; groups of somebody else's are not there."""
        rows = models.Group.objects.select_related("run__scenarios").filter(run__owner=self._owner())
        found = rows.in_bulk({question.group_id for question in questions})
        for group_id, asked in groupby(questions, key=lambda question: question.group_id):
            if group_id in found:
                group = trials.recorded(found[group_id])
                yield from ((question, group) for question in asked)

    def _owner(self) -> User:
        return self._doing.owner
