"""What stands above the grid of scenarios: splits, solve rates, coverage, and what an errand has brought."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext

from training.authoring.studio import audit, solve_rate
from training.authoring.studio.audit import Audit
from training.authoring.studio.scenario_queries import ERRANDS, KINDS, Known
from training.authoring.studio.scenarios import SPLITS
from training.models import LIVING, Agent, Errand, Tool


@dataclass(frozen=True)
class Cell:
    """One count of the coverage, and how wide its bar is in a drawing 100 wide."""

    count: int
    width: float


@dataclass(frozen=True)
class Coverage:
    """Scenarios by tool (rows) and kind (columns)."""

    kinds: list[str | Promise]
    rows: list[tuple[str, list[Cell]]]


@dataclass(frozen=True)
class Part:
    """A split's part of a bar 100 wide."""

    name: str
    title: str | Promise
    count: int
    start: float
    width: float


@dataclass(frozen=True)
class Overview:
    """What stands above the grid."""

    audit: Audit
    splits: list[Part]
    badges: list[tuple[str, Promise, int]]
    """Each verdict of the solve rate with its number of scenarios; only those there are."""
    coverage: Coverage | None
    untouched: list[str]
    """Tools that no scenario needs."""


def overview(agent: Agent, known: Known) -> Overview:
    return Overview(
        audit=known.audit,
        splits=_parts(known.audit),
        badges=_badges(known),
        coverage=_coverage(known.audit),
        untouched=_untouched(agent, known.audit),
    )


def _parts(found: Audit) -> list[Part]:
    parts, start = [], 0.0
    for split in SPLITS:
        count = found.splits.get(split, 0)
        width = 100 * count / max(1, found.count)
        parts.append(Part(split, SPLITS[split], count, start, width))
        start += width
    return parts


def _badges(known: Known) -> list[tuple[str, Promise, int]]:
    if not known.rates:
        return []
    counts = Counter(known.verdicts.values())
    return [(name, told, counts[name]) for name, told in solve_rate.VERDICTS.items() if counts[name]]


def _coverage(found: Audit) -> Coverage | None:
    if not found.coverage:
        return None
    tools = sorted({tool for tool, _kind in found.coverage}, key=lambda tool: (tool == audit.NO_TOOL, tool))
    kinds = sorted({kind for _tool, kind in found.coverage}, key=_place_of_kind)
    most = max(found.coverage.values())
    cells = [
        (tool, [_cell(found.coverage.get((tool, kind), 0), most) for kind in kinds]) for tool in tools[:20]
    ]
    return Coverage([KINDS.get(kind, kind) for kind in kinds], cells)


def _place_of_kind(kind: str) -> tuple[int, str]:
    """Known kinds first, in their own order."""
    return (list(KINDS).index(kind) if kind in KINDS else len(KINDS), kind)


def _cell(count: int, most: int) -> Cell:
    return Cell(count, 100 * count / most)


def _untouched(agent: Agent, found: Audit) -> list[str]:
    """Tools that no scenario must call and whose table none rests on."""
    used = {tool for tool, _kind in found.coverage}
    tools = Tool.objects.filter(LIVING, agent=agent).select_related("table")
    return [
        tool.name for tool in tools if tool.name not in used and not (tool.table and tool.table.name in used)
    ]


@dataclass(frozen=True)
class Outcome:
    """What an errand that is done has brought: sentences, and rows of a file that were left out."""

    sentences: list[str]
    problems: list[str]


def outcome(agent: Agent, chosen: str) -> Outcome | None:
    """None if it is no errand of this page, or not done."""
    if not (chosen.isascii() and chosen.isdigit() and len(chosen) < 16):
        return None
    done = Errand.objects.filter(
        agent=agent, kind__in=ERRANDS, state=Errand.State.DONE, pk=int(chosen)
    ).first()
    return Outcome(_sentences(done.result), list(done.result.get("problems", ()))) if done else None


def _sentences(result: Mapping[str, Any]) -> list[str]:
    made, checked = int(result.get("made", 0)), int(result.get("checked", result.get("made", 0)))
    told = [ngettext("%(count)s scenario was added.", "%(count)s scenarios were added.", made)]
    if made > checked:
        told.append(
            ngettext("%(unchecked)s expects nothing.", "%(unchecked)s expect nothing.", made - checked)
        )
    dropped = sum(dict(result.get("dropped") or {}).values())
    if dropped:
        told.append(
            ngettext("%(dropped)s proposal was dropped.", "%(dropped)s proposals were dropped.", dropped)
        )
    if result.get("cost"):
        told.append(gettext("It cost $%(cost)s."))
    counts = {
        "count": made,
        "unchecked": made - checked,
        "dropped": dropped,
        "cost": f"{result.get('cost') or 0:.4f}",
    }
    return [sentence % counts for sentence in told] + [note for note in [result.get("note")] if note]
