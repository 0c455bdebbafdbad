"""Train, validation and test without leaks: what shares a row or asks the same stays on one side."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_worker.types import Split
from training.authoring.studio.questions.question import Question
from training.authoring.studio.questions.similar import duplicates

SPLITS: tuple[Split, ...] = ("train", "val", "test")
SHARES = (0.6, 0.1, 0.3)
"""Of train, val and test."""


@dataclass(frozen=True)
class Leak:
    """Two questions of different splits and what they share: a row, or (empty) nearly the same words."""

    first: str
    second: str
    row: str = ""


def leaks(questions: Sequence[Question]) -> list[Leak]:
    """Every row that questions of different splits rest on, and every pair of them that asks the same."""
    found = []
    seen: dict[str, Question] = {}
    for question in questions:
        for row in question.rows:
            other = seen.setdefault(row, question)
            if other.scenario.split != question.scenario.split:
                found.append(Leak(other.scenario.id, question.scenario.id, row))
    for one, other_ in duplicates([question.text for question in questions]):
        first, second = questions[one].scenario, questions[other_].scenario
        if first.split != second.split:
            found.append(Leak(first.id, second.id))
    return found


def split(
    questions: Sequence[Question], seed: int, shares: Sequence[float] = SHARES, fixed: Sequence[Question] = ()
) -> list[Question]:
    """The same questions, in their order, with new splits as near to `shares` as no leak allows.

    `fixed` questions keep their splits, and what leaks into one of them takes its split.
    """
    everyone = [*fixed, *questions]
    clusters = _clusters(everyone)
    given: dict[int, Split] = {}
    for at, question in enumerate(fixed):
        given.setdefault(clusters[at], question.scenario.split)
    members: dict[int, list[int]] = {}
    for at in range(len(fixed), len(everyone)):
        members.setdefault(clusters[at], []).append(at)
    _share_out(everyone, members, given, random.Random(f"split {seed}"), shares)
    return [_in_split(question, given[clusters[len(fixed) + at]]) for at, question in enumerate(questions)]


def _share_out(
    everyone: Sequence[Question],
    members: dict[int, list[int]],
    given: dict[int, Split],
    rng: random.Random,
    shares: Sequence[float],
) -> None:
    """Give each cluster the split that lacks most of the cluster's kind; big clusters first."""
    have: dict[tuple[str, Split], int] = {}
    total: dict[str, int] = {}
    for cluster, ats in members.items():
        for at in ats:
            kind = everyone[at].kind
            total[kind] = total.get(kind, 0) + 1
            if cluster in given:
                have[kind, given[cluster]] = have.get((kind, given[cluster]), 0) + 1
    open_ = [cluster for cluster in members if cluster not in given]
    rng.shuffle(open_)
    for cluster in sorted(open_, key=lambda each: -len(members[each])):
        kinds = [everyone[at].kind for at in members[cluster]]
        lacking = {
            one: sum(share * total[kind] - have.get((kind, one), 0) for kind in kinds)
            for one, share in zip(SPLITS, shares, strict=True)
        }
        best = max(SPLITS, key=lambda one: lacking[one])
        given[cluster] = best
        for kind in kinds:
            have[kind, best] = have.get((kind, best), 0) + 1


def _clusters(questions: Sequence[Question]) -> list[int]:
    """For each question the first one it is tied to by rows or words, directly or through others."""
    first = list(range(len(questions)))

    def root(at: int) -> int:
        while first[at] != at:
            first[at] = first[first[at]]
            at = first[at]
        return at

    def tie(one: int, other: int) -> None:
        low, high = sorted((root(one), root(other)))
        first[high] = low

    seen: dict[str, int] = {}
    for at, question in enumerate(questions):
        for row in question.rows:
            tie(seen.setdefault(row, at), at)
    for one, other in duplicates([question.text for question in questions]):
        tie(one, other)
    return [root(at) for at in range(len(questions))]


def _in_split(question: Question, split_: Split) -> Question:
    return replace(question, scenario=replace(question.scenario, split=split_))
