"""Fields that were filled for a person: marked until they are kept or changed, and easily taken back.

What stood in a field before is in the result of the errand that filled it ("before": {field: text}).
Suggested tools carry their own mark (Tool.suggested).
"""

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from training.models import LIVING, Agent, Errand

COLUMNS = ("name", "description", "system_prompt", "rubric", "language")
"""What may be suggested."""


def fill(agent: Agent, texts: Mapping[str, str]) -> dict[str, str]:
    """Put suggestions into the agent; returns what stood there before, for the errand's result."""
    with transaction.atomic():
        current = Agent.objects.select_for_update().get(pk=agent.pk)
        new = {name: text for name, text in texts.items() if getattr(current, name) != text}
        before = {name: getattr(current, name) for name in new}
        marks = [*current.suggested, *(name for name in new if name not in current.suggested)]
        _store(current, {**new, "suggested": marks})
    agent.refresh_from_db()
    return before


def mark(agent: Agent, names: Iterable[str]) -> None:
    """These fields hold what nobody typed; there is nothing to put back."""
    with transaction.atomic():
        current = Agent.objects.select_for_update().get(pk=agent.pk)
        _store(current, {"suggested": list(dict.fromkeys([*current.suggested, *names]))})
    agent.refresh_from_db()


def keep(agent: Agent, names: Iterable[str]) -> None:
    """The person looked at these and wants them as they are."""
    with transaction.atomic():
        current = Agent.objects.select_for_update().get(pk=agent.pk)
        gone = set(names)
        _store(current, {"suggested": [name for name in current.suggested if name not in gone]})
    agent.refresh_from_db()


def keep_all(agent: Agent) -> None:
    """Every field and every tool that was suggested is wanted."""
    keep(agent, list(agent.suggested))
    agent.tools.filter(suggested=True).update(suggested=False)


def take_back(agent: Agent, name: str) -> None:
    """Put back what stood in a field before it was filled, unless the person changed it since."""
    before = earlier(agent)
    if name in agent.suggested and name in before:
        marks = [mark for mark in agent.suggested if mark != name]
        with transaction.atomic():
            _store(agent, {name: before[name], "suggested": marks})
        agent.refresh_from_db()


def earlier(agent: Agent) -> dict[str, str]:
    """What stood in the suggested fields before: field → text, for those of which it is known."""
    found: dict[str, str] = {}
    for result in Errand.objects.filter(agent=agent, state=Errand.State.DONE).values_list(
        "result", flat=True
    ):
        for name, text in (result.get("before") or {}).items():
            if name in COLUMNS and name in agent.suggested:
                found.setdefault(name, text)
    return found


def open_ones(agent: Agent) -> list[str]:
    """The fields nobody has looked at yet, in the order of the wizard's pages."""
    order = {name: place for place, name in enumerate(COLUMNS)}
    return sorted(agent.suggested, key=lambda name: order.get(name, len(order)))


def open_tools(agent: Agent) -> int:
    """How many tools nobody has looked at yet."""
    return agent.tools.filter(LIVING, suggested=True).count()


def _store(agent: Agent, columns: Mapping[str, object]) -> None:
    told = {**columns, "edits": F("edits") + 1, "edited_at": timezone.now()}
    Agent.objects.filter(pk=agent.pk).update(**told)
