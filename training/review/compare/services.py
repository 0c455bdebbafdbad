"""Comparisons are begun, taken up again, put into the bin and taken out. Reads live in queries."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from judging import offline
from training.authoring.office import errands
from training.models import Comparison, ComparisonTry, Errand, Run
from training.review.compare import contenders, held_out
from training.review.compare.contenders import Contender

KIND = "compare"
MOST_CONTENDERS = 8
LONGEST_NAME = 120


class Refused(Exception):
    """What was asked for cannot be done; the text says why and what to do."""


@dataclass(frozen=True)
class Wanted:
    """A comparison as it was asked for. `own` are keys of local contenders, `models` names of outside ones.

    No tags are all tags; `max_tokens` is for a turn of an outside model; `budget` 0 is no cap.
    """

    own: Sequence[str]
    models: Sequence[str] = ()
    count: int = 40
    tags: Sequence[str] = ()
    temperature: float = 1.0
    max_tokens: int = 1024
    budget: float = 1.0
    name: str = ""


def start(*, owner: User, run: Run, wanted: Wanted, request_id: str) -> Comparison:
    """Begin it; the same request again leads to the same comparison. Raises Refused."""
    key = _request_key(owner, request_id)
    earlier = Comparison.objects.filter(request_id=key).first()
    if earlier is not None:
        return earlier
    chosen, unseen = chosen_contenders(run, wanted), held_out.of(run)
    keys = unseen.chosen(wanted.count, wanted.tags)
    if not keys:
        raise Refused(_("No unseen scenario bears any of these tags. Choose others, or none for all."))
    try:
        with transaction.atomic():
            comparison = Comparison.objects.create(
                owner=owner,
                agent_id=run.agent_id,
                run=run,
                name=(wanted.name.strip() or _name(chosen))[:LONGEST_NAME],
                split=unseen.split,
                scenario_keys=keys,
                contenders=[one.as_json() for one in chosen],
                request_id=key,
            )
            _take_over_recorded(comparison, unseen, chosen)
            if comparison.tries.count() < len(keys) * len(chosen):
                _play(comparison, wanted.budget)
    except IntegrityError:  # another request was faster
        return Comparison.objects.get(request_id=key)
    return comparison


def chosen_contenders(run: Run, wanted: Wanted) -> list[Contender]:
    """The contenders in the order they are shown, the reference first. Raises Refused."""
    known = {contenders.BASE: contenders.base()}
    known |= {one.key: contenders.checkpoint(one.step) for one in contenders.own(run)}
    gone = [key for key in wanted.own if key not in known]
    if gone:
        raise Refused(_("The checkpoint %(key)s is not kept any more.") % {"key": gone[0][:40]})
    outside = contenders.outsiders(wanted.models)
    if any(one.model == offline.MODEL for one in outside):
        raise Refused(_("The offline judge only judges; it cannot play. Choose another model."))
    own = [known[key] for key in known if key in wanted.own]
    found = [replace(one, temperature=wanted.temperature) for one in own]
    found += [replace(one, temperature=wanted.temperature, max_tokens=wanted.max_tokens) for one in outside]
    if len(found) < 2:
        raise Refused(_("Choose at least two contenders: one is held against the other."))
    if len(found) > MOST_CONTENDERS:
        raise Refused(_("At most %(most)s contenders fit into one report.") % {"most": MOST_CONTENDERS})
    return found


def go_on(comparison: Comparison, budget: float) -> None:
    """Play what is missing, unless somebody does. `budget` counts what was spent before. Raises Refused."""
    with transaction.atomic():
        held = Comparison.objects.select_for_update().get(pk=comparison.pk)
        if held.errand is not None and held.errand.state not in Errand.OVER:
            return
        _play(held, budget)
    comparison.refresh_from_db()


def store(comparison: Comparison, told: Mapping[str, Any]) -> None:
    """Keep a try; one without an outcome gives way to it."""
    columns = {name: told[name] for name in _COLUMNS if name in told}
    ComparisonTry.objects.update_or_create(
        comparison=comparison,
        contender=told["contender"],
        scenario_key=told["scenario_key"],
        defaults={"error": "", **columns},
    )


def delete(comparison: Comparison) -> None:
    """Into the bin; what still goes on for it is called off."""
    Comparison.objects.filter(pk=comparison.pk, deleted_at=None).update(deleted_at=timezone.now())
    if comparison.errand is not None and comparison.errand.state not in Errand.OVER:
        errands.cancel(comparison.errand)


def restore(comparison: Comparison) -> None:
    Comparison.objects.filter(pk=comparison.pk).update(deleted_at=None)


_COLUMNS = (
    "success",
    "reward",
    "ended",
    "turns",
    "tokens",
    "seconds",
    "cost",
    "messages",
    "scores",
    "error",
)


def _take_over_recorded(
    comparison: Comparison, unseen: held_out.HeldOut, chosen: Sequence[Contender]
) -> None:
    """The run has played some of it already, with the same seeds."""
    found = [
        row
        for contender in chosen
        for row in held_out.recorded(comparison.run, unseen, comparison.scenario_keys, contender)
    ]
    for row in found:
        row.comparison = comparison
    ComparisonTry.objects.bulk_create(found, ignore_conflicts=True)


def _play(comparison: Comparison, budget: float) -> None:
    comparison.errand = errands.start(
        owner=comparison.owner,
        kind=KIND,
        agent=comparison.agent,
        comparison=comparison.pk,
        budget=budget,
    )
    comparison.save(update_fields=["errand"])


def _name(chosen: Sequence[Contender]) -> str:
    others = ", ".join(one.title for one in chosen[1:])
    return _("%(first)s against %(others)s") % {"first": chosen[0].title, "others": others}


def _request_key(owner: User, request_id: str) -> str:
    """One person's requests never meet another's."""
    return hashlib.sha256(f"{owner.pk} {request_id}".encode()).hexdigest()
