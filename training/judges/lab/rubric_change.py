"""What another rubric would change: the same judge, groups and order of tries, judged by both rubrics."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from training.judges.lab import agreement, matrix
from training.judges.lab.agreement import Estimate, best, flipped_pairs
from training.judges.lab.ranking import try_name
from training.judges.lab.sources import YOU as YOU_KEY
from training.judges.lab.sources import Source, by_hand, judge_title, on_trial_by, sha256_of
from training.judges.lab.strips import Strip, strip
from training.models import Group


@dataclass(frozen=True)
class ChangedGroup:
    """`turned` names pairs: who was better, who would be."""

    strip: Strip
    turned: list[tuple[str, str]]
    best_before: str
    best_after: str

    @property
    def best_changes(self) -> bool:
        return self.best_before != self.best_after


@dataclass(frozen=True)
class Change:
    """Over `groups` that were judged by both rubrics. `turned` of `pairs` pairs would change their order."""

    groups: int
    pairs: int
    turned: int
    new_best: int
    before: Estimate | None
    after: Estimate | None
    each_other: Estimate
    changed: list[ChangedGroup]


def change(groups: Sequence[Group], person: User, judge: str, present: str, draft: str) -> Change | None:
    """None until some group was judged by both."""
    ids = [group.pk for group in groups]
    you = Source(YOU_KEY, _("You"), values=by_hand(ids, person))
    before = _asked_by(ids, person, judge, present, _("present rubric"))
    after = _asked_by(ids, person, judge, draft, _("your edit"))
    judged = [group for group in groups if group.pk in before.values and group.pk in after.values]
    if not judged:
        return None
    found = [one for group in judged if (one := _changed(group, you, before, after))]
    kept = {group.pk for group in judged}
    return Change(
        groups=len(judged),
        pairs=sum(len(before.values[pk]) * (len(before.values[pk]) - 1) // 2 for pk in kept),
        turned=sum(len(one.turned) for one in found),
        new_best=sum(one.best_changes for one in found),
        before=_with(you, before, kept),
        after=_with(you, after, kept),
        each_other=agreement.tau(matrix.both(before, after)),
        changed=sorted(found, key=lambda one: (-one.best_changes, -len(one.turned))),
    )


def _asked_by(ids: Sequence[int], person: User, judge: str, rubric: str, title: str) -> Source:
    found = on_trial_by(ids, person, judge, sha256_of(rubric))
    return Source(f"{judge} {title}", judge_title(judge), title, found.values)


def _with(you: Source, judge: Source, kept: set[int]) -> Estimate | None:
    """Both rubrics are measured on the same groups."""
    both = [(you.values[pk], judge.values[pk]) for pk in sorted(kept & you.values.keys())]
    return agreement.tau(both) if both else None


def _changed(group: Group, you: Source, before: Source, after: Source) -> ChangedGroup | None:
    was, would = before.values[group.pk], after.values[group.pk]
    turned = flipped_pairs(was, would)
    if not turned and best(was) == best(would):
        return None
    drawn = strip(group, [before, after, you])
    assert drawn is not None, "two have scored it"
    return ChangedGroup(
        strip=drawn,
        turned=[(try_name(one), try_name(other)) for one, other in turned],
        best_before=_names(best(was)),
        best_after=_names(best(would)),
    )


def _names(indexes: frozenset[int]) -> str:
    return ", ".join(try_name(index) for index in sorted(indexes))
