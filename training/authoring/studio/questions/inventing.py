"""Invents questions about tables: kinds, splits and columns in turn, each answer found by the agent's tools.

The same tables, plans and seed give the same questions. A table that holds fewer questions than are wanted
gives those it holds.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gpu_worker.types import Scenario, Split, ToolPlan
from training.authoring.studio.questions import drafts, hops
from training.authoring.studio.questions.drafts import Draft, Drawing
from training.authoring.studio.questions.expectations import expected
from training.authoring.studio.questions.question import DIFFICULTY, KINDS, Question
from training.authoring.studio.questions.similar import Texts
from training.authoring.studio.questions.splits import SHARES, SPLITS
from training.authoring.studio.questions.tables import QuestionTable, View, views_of
from training.authoring.studio.questions.wording import worded

ATTEMPTS = 24
"""Drafts that are tried for one question before another kind has its turn."""
FRESH_ATTEMPTS = 16
"""Of these, those that take only rows no question rests on yet."""
MAKERS: Mapping[str, tuple[Callable[[Drawing], Draft | None], ...]] = {
    "single": (drafts.single,),
    "count": (drafts.count,),
    "missing": (drafts.missing,),
    "filter": (drafts.filtered,),
    "compare": (hops.compare,),
    "two_hop": (hops.shared_value, hops.across),
}


@dataclass
class Used:
    """What questions so far rest on and say. A row belongs to the split of the first that rests on it."""

    owner: dict[str, Split] = field(default_factory=dict)
    asked: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    phrasings: Counter[tuple[str, str]] = field(default_factory=Counter)
    texts: Texts = field(default_factory=Texts)
    ids: set[str] = field(default_factory=set)

    def free(self, rows: Sequence[str], split: Split, *, fresh: bool) -> bool:
        owners = (self.owner.get(row) for row in rows)
        return all(owner is None or (owner == split and not fresh) for owner in owners)

    def take(self, question: Question) -> None:
        for row in question.rows:
            self.owner.setdefault(row, question.scenario.split)
        self.texts.add(question.text)
        self.ids.add(question.scenario.id)


def invent(
    tables: Sequence[QuestionTable],
    plans: Sequence[ToolPlan],
    *,
    count: int,
    seed: int,
    language: str = "en",
    kinds: Mapping[str, float] | Sequence[str] | None = None,
    avoid: Sequence[Question] = (),
    shares: Sequence[float] = SHARES,
    columns: Sequence[str] = (),
    on_each: Callable[[int], None] = lambda made: None,
) -> list[Question]:
    """At most `count` questions, each with a split, in an order that mixes kinds and splits.

    kinds      which kinds and how much of each; question.KINDS by default. What one lacks the others fill up
    avoid      questions that are there: not asked again, and what rests on their rows keeps their split
    shares     of train, val and test
    columns    as table.column: these are asked for first
    on_each    is told how many there are so far; what it raises ends the inventing
    """
    rng = random.Random(f"questions {seed} {language}")
    inventor = Inventor(rng, views_of(tables, plans, language), language, frozenset(columns))
    for question in avoid:
        inventor.used.take(question)
    made: list[Question] = []
    turns = Turns(_mix(kinds), shares)
    while len(made) < count and (turn := turns.next()):
        found = inventor.question(*turn)
        if found is None:
            turns.give_up(turn)
        else:
            made.append(found)
            on_each(len(made))
    return made


def _mix(kinds: Mapping[str, float] | Sequence[str] | None) -> dict[str, float]:
    if kinds is None:
        return dict(KINDS)
    chosen = kinds if isinstance(kinds, Mapping) else {kind: KINDS[kind] for kind in kinds}
    return {kind: share for kind, share in chosen.items() if share > 0}


class Turns:
    """Kinds and splits in turn, each as often as its share, spread evenly; those that are dry drop out."""

    def __init__(self, mix: Mapping[str, float], shares: Sequence[float]) -> None:
        split_shares = list(zip(SPLITS, shares, strict=True))
        self._share = {
            (kind, split): part * share
            for kind, part in mix.items()
            for split, share in split_shares
            if share > 0
        }
        self._due = dict(self._share)

    def next(self) -> tuple[str, Split] | None:
        """Whose turn it is; None when all are dry."""
        if not self._due:
            return None
        turn = max(self._due, key=lambda each: self._due[each])
        for each in self._due:
            self._due[each] += self._share[each]
        self._due[turn] -= sum(self._share[each] for each in self._due)
        return turn

    def give_up(self, turn: tuple[str, Split]) -> None:
        del self._due[turn]


class Inventor:
    """Makes one question after another and remembers what they used."""

    def __init__(
        self, rng: random.Random, views: Sequence[View], language: str, columns: frozenset[str]
    ) -> None:
        self.used = Used()
        self._rng, self._views, self._language, self._columns = rng, views, language, columns

    def question(self, kind: str, split: Split) -> Question | None:
        """A new question of this kind for this split; None if none was found."""
        for attempt in range(ATTEMPTS if self._views else 0):
            drawing = Drawing(
                rng=self._rng,
                view=self._rng.choice(self._views),
                views=self._views,
                free=partial(self.used.free, split=split, fresh=attempt < FRESH_ATTEMPTS),
                asked_least=partial(self._asked_least, kind),
            )
            draft = self._rng.choice(MAKERS[kind])(drawing)
            question = self._finished(draft, split) if draft else None
            if draft and question:
                self.used.take(question)
                self.used.asked.update((kind, draft.view.table.name, column) for column in draft.asked)
                return question
        return None

    def _finished(self, draft: Draft, split: Split) -> Question | None:
        """The draft in words and with what is expected, if that can be verified and was not asked before."""
        text = worded(draft, self._rng, self.used.phrasings, self._language)
        expect = None if self.used.texts.like(text) else expected(draft, text)
        key = hashlib.sha256("\n".join((text, *draft.rows)).encode()).hexdigest()
        name = f"{draft.kind}-{key[:10]}"
        if expect is None or name in self.used.ids:
            return None
        tags = (draft.kind, DIFFICULTY[draft.kind])
        scenario = Scenario(name, split, ({"role": "user", "content": text},), expect, tags)
        return Question(scenario, draft.kind, draft.rows, draft.columns, draft.calls)

    def _asked_least(self, kind: str, view: View, columns: Sequence[str]) -> list[str]:
        """The columns, those first that are wished for, then those this kind asked for least."""
        name = view.table.name
        shuffled = self._rng.sample(list(columns), len(columns))
        return sorted(
            shuffled,
            key=lambda each: (f"{name}.{each}" not in self._columns, self.used.asked[kind, name, each]),
        )
