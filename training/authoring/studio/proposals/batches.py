"""Batches of scenarios from a language model: asked for, read, held against what is there, verified.

Each batch is asked with other sample rows, other personas, and for the tools that few scenarios need so far.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import replace

from django.utils.translation import gettext as _

from gpu_worker.seeds import seed_for
from gpu_worker.tools import aside
from gpu_worker.tools.build import tools_for
from gpu_worker.tools.tables import LiveTable
from gpu_worker.types import Message, Scenario, Tool, ToolPlan
from judging.llm import Model, NoAnswer, Refused
from judging.spending import BudgetSpent, Purse
from training.authoring.studio.proposals import asking
from training.authoring.studio.proposals.reading import Proposal, read
from training.authoring.studio.proposals.verifying import Unverified, Verifier
from training.authoring.studio.questions import Question, QuestionTable, Texts, leaks, split
from training.authoring.studio.questions.tables import View, views_of
from training.judges import providers
from training.models import Agent
from training.phrasebook import said
from training.runs import versions
from training.runs.outside import outside

BATCHES_AT_ONCE = 3
EMPTY_ROUNDS = 3
"""Rounds without anything new after which it is given up."""
SAMPLE_ROWS = 12
"""Rows of each table that are shown with a question."""
TEMPERATURE = 1.0
SIGN_OF_LIFE = 2.0
"""Seconds."""


class Proposer:
    """Asks one model for scenarios of one agent. `dropped` counts what was not taken, by why."""

    def __init__(
        self,
        agent: Agent,
        *,
        model: str,
        tables: Sequence[QuestionTable],
        language: str,
        seed: int,
        known: Sequence[Question],
        like: Sequence[Question],
    ) -> None:
        self.complaint = ""
        self.dropped: Counter[str] = Counter()
        self._agent, self._model, self._language, self._seed = agent, model, language, seed
        self._purse = Purse(limit=float(agent.config.get("budget") or 0.0))
        self._known, self._like = list(known), [question.text for question in like]
        self._texts = Texts(question.text for question in known)
        self._plans = versions.plans_now(agent)
        self._views = views_of(tables, self._plans, language)
        self._needed: Counter[str] = Counter()
        self._round = 0
        self._access = providers.access_for(agent.owner, model)
        outer = outside(agent.owner, self._plans, self._purse)

        def fresh(plans: Sequence[ToolPlan]) -> tuple[list[Tool], list[LiveTable]]:
            return tools_for(plans, outer, seed=seed, faults=False)

        self._verifier = Verifier(self._plans, self._views, fresh)

    @property
    def cost(self) -> float:
        """Dollars so far."""
        return self._purse.spent

    def next(self, wanted: int, alive: Callable[[], None]) -> list[Question]:
        """New questions, at most so many; none when there will be no more, and then `complaint` may say why.

        `alive` is called every few seconds; what it raises ends the asking.
        """
        for _attempt in range(EMPTY_ROUNDS):
            answers = self._answers(wanted, alive)
            found: list[Question] = []
            for proposal in [proposal for answer in answers for proposal in read(answer)]:
                alive()
                question = self._question(proposal) if len(found) < wanted else None
                if question:
                    found.append(question)
            if found:
                placed = self._without_leaks(split(found, self._seed + self._round, fixed=self._known))
                self._known += placed
                if placed:
                    return placed
            if self.complaint:
                break
        return []

    def _without_leaks(self, questions: Sequence[Question]) -> list[Question]:
        """Those that can be in one split: others tie questions together that are in different ones."""
        leaking = {name for leak in leaks([*self._known, *questions]) for name in (leak.first, leak.second)}
        kept = [question for question in questions if question.scenario.id not in leaking]
        self.dropped["leaks"] += len(questions) - len(kept)
        return kept

    def _answers(self, wanted: int, alive: Callable[[], None]) -> list[str]:
        """What the model says to a round of questions; those that failed are left out."""
        sizes = [asking.BATCH] * (wanted // asking.BATCH) + [wanted % asking.BATCH or asking.BATCH]
        model = Model(self._access, purse=self._purse)
        asked = [self._messages(size + 2) for size in sizes[:BATCHES_AT_ONCE]]
        going = {
            aside.begin(
                model.ask(messages, asking.SCHEMA, name="scenarios", temperature=TEMPERATURE)
            ): messages
            for messages in asked
        }
        self._round += 1
        waiting = set(going)
        try:
            while waiting:
                waiting = wait(waiting, timeout=SIGN_OF_LIFE).not_done
                alive()
        finally:
            for answer in waiting:
                answer.cancel()
        answers = []
        for each in going:
            try:
                answers.append(each.result().text)
            except (NoAnswer, Refused, BudgetSpent) as error:
                told = {"model": self._model, "why": said(str(error))}
                self.complaint = _("%(model)s could not be asked. %(why)s") % told
        if answers:
            self.complaint = ""
        return answers

    def _messages(self, count: int) -> list[Message]:
        rng = random.Random(seed_for(self._seed, "proposals", self._round, len(self._known), count))
        names = [plan.spec.name for plan in self._plans]
        rarely = sorted(names, key=lambda name: self._needed[name])[: max(1, len(names) // 2)]
        return asking.messages(
            rng,
            description=self._agent.description or self._agent.system_prompt,
            plans=self._plans,
            samples={view.table.name: _some_lines(rng, view) for view in self._views},
            language=self._language,
            count=min(count, asking.BATCH),
            rarely=rarely if len(names) > 1 else (),
            known=[question.text for question in self._known],
            like=rng.sample(self._like, min(len(self._like), 8)),
        )

    def _question(self, proposal: Proposal) -> Question | None:
        """The proposal as a question, with what could be verified; None if it is there already."""
        if self._texts.like(proposal.question):
            self.dropped["duplicates"] += 1
            return None
        name = hashlib.sha256(f"{self._seed} {proposal.question}".encode()).hexdigest()[:10]
        answerable = () if proposal.answerable else ("unanswerable",)
        tags = (proposal.difficulty, *((proposal.persona,) if proposal.persona else ()), *answerable)
        scenario = Scenario(
            f"asked-{name}", "train", ({"role": "user", "content": proposal.question},), {}, tags
        )
        question = Question(scenario, "", ())
        try:
            found = self._verifier.verified(proposal)
            question = Question(replace(scenario, expect=found.expect), found.kind, found.rows)
        except Unverified:
            self.dropped["unverified"] += 1
        self._needed.update({tool for tool, _arguments in proposal.calls})
        self._texts.add(proposal.question)
        return question


def _some_lines(rng: random.Random, view: View) -> list[str]:
    rows = rng.sample(range(len(view.table.rows)), min(SAMPLE_ROWS, len(view.table.rows)))
    return ["; ".join(f"{name}: {view.cell(row, name)[:80]}" for name in view.shown) for row in rows]
