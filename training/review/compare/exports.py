"""The report as files: Markdown that renders anywhere, CSV for spreadsheets.

What models, tools and people said is escaped: it makes no heading, link, image or formula of its own.
"""

import re
from collections.abc import Iterable, Sequence

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from training.authoring.studio.scenario_records import written_csv
from training.review.compare.blind.tally import Agreement, Tally
from training.review.compare.report import Cell, Column, Line, Report
from training.templatetags.figures import dollars, duration, percent, score, signed

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$^>=:@/])")
"""Everything that can begin markup in CommonMark, GitHub's tables and automatic links included."""
LONGEST = 300
"""Characters of one text that go into Markdown."""


def escaped(text: str) -> str:
    """Text as it stands in one cell of a Markdown table, and nothing but text."""
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return _SPECIAL.sub(_entity, line.replace("&", "&amp;").replace("<", "&lt;"))


def markdown(report: Report, tally: Tally) -> str:
    """The whole report. Scenarios at which anybody did worse come first, then better; the rest is counted.

    What a person judged blind is told if there is any of it.
    """
    parts = [
        f"# {escaped(report.comparison.name)}",
        _about(report),
        f"## {_('Contenders')}",
        _table(_contender_head(report), (_contender_row(report, column) for column in report.columns)),
        _remarks(report),
        *_blind_part(tally),
        *_tag_part(report),
        *_changed_part(report, _("Regressions"), "lost"),
        *_changed_part(report, _("Improvements"), "won"),
        *_missing_part(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def csv(report: Report) -> bytes:
    """One row for each scenario and contender; cells that a spreadsheet would run are defused."""
    columns = (
        "scenario",
        "tags",
        "contender",
        "outcome",
        "change",
        "reward",
        "ended",
        "turns",
        "tokens",
        "seconds",
        "cost",
        "error",
    )
    return written_csv(columns, (_record(report, line, cell) for line in report.lines for cell in line.cells))


def _record(report: Report, line: Line, cell: Cell) -> Sequence[str]:
    row = report.tries.get((cell.contender.key, line.key))
    if row is None or row.error:
        figures = ["", "", "", "", "", ""]
    else:
        known = (row.reward, row.ended, row.turns, row.tokens, row.seconds or "", row.cost)
        figures = ["" if value is None else str(value) for value in known]
    who = [line.key, " ".join(line.tags), cell.contender.title, cell.outcome, cell.change]
    return [*who, *figures, cell.error]


def _about(report: Report) -> str:
    comparison = report.comparison
    told = {
        "run": escaped(comparison.run.name),
        "count": len(report.counted),
        "reference": escaped(report.reference.title),
        "date": date_format(localtime(comparison.created_at), "DATE_FORMAT"),
    }
    return (
        _(
            "%(count)s unseen scenarios of the run %(run)s, tried once by every contender, %(date)s. "
            "Differences are against: %(reference)s."
        )
        % told
    )


def _contender_head(report: Report) -> list[str]:
    measured = _("Mean score") if report.by_reward else _("Succeeded")
    heads = [
        _("Contender"),
        measured,
        _("95 % interval"),
        _("Difference"),
        _("95 % interval of the difference"),
        _("Wins / ties / losses"),
        _("p (McNemar)"),
        *([_("p (Holm)")] if report.several else []),
        _("Missing"),
        _("Cost a try"),
        _("Time a try"),
        _("Tokens a try"),
        _("Turns"),
    ]
    return heads


def _contender_row(report: Report, column: Column) -> list[str]:
    pair = column.paired
    low, high = column.interval
    own = (
        [score(column.share), f"{score(low)} – {score(high)}"]
        if report.by_reward
        else [
            f"{percent(column.share)} ({column.successes}/{len(column.results)})",
            f"{percent(low)} – {percent(high)}",
        ]
    )
    if pair is None:
        against = ["–"] * (5 if report.several else 4)
    else:
        against = [
            signed(pair.difference),
            f"{signed(pair.interval[0])} … {signed(pair.interval[1])}",
            f"{pair.wins} / {pair.ties} / {pair.losses}",
            _chance(pair.p),
            *([_chance(column.corrected)] if report.several else []),
        ]
    means = (column.tokens, column.turns)
    figures = ["–" if mean is None else f"{mean:.1f}" for mean in means]
    money = dollars(column.cost).replace("<", "&lt;")
    title = escaped(column.contender.title)
    return [title, *own, *against, str(column.missing), money, duration(column.seconds), *figures]


def chance(p: float | None) -> str:
    """A p value as it is written: 0.0004 -> "<0.001"."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _chance(p: float | None) -> str:
    return chance(p).replace("<", "&lt;")


def _remarks(report: Report) -> str:
    told = [_("Intervals of differences: bootstrap over scenarios, 10,000 resamples, fixed seed.")]
    if report.several:
        told.append(
            _("Several contenders are held against one reference: read the p values after Holm's correction.")
        )
    if report.missing:
        told.append(_("A missing case counts as a failure, not as a pass."))
    return " ".join(told)


def _blind_part(tally: Tally) -> list[str]:
    if not tally.rows:
        return []
    several = len(tally.rows) > 1
    head = [
        _("Contender"),
        _("Against"),
        _("Wins / ties / losses"),
        _("p (sign test)"),
        *([_("p (Holm)")] if several else []),
        _("Reward agrees"),
    ]
    rows = [
        [
            escaped(row.contender.title),
            escaped(row.against.title),
            f"{row.wins} / {row.ties} / {row.losses}",
            _chance(row.p),
            *([_chance(row.corrected)] if several else []),
            f"{row.agreement.agreeing} / {row.agreement.decided}",
        ]
        for row in tally.rows
    ]
    return [f"## {_('Judged blind')}", _table(head, rows), agreement(tally.agreement)]


def agreement(found: Agreement) -> str:
    """How far the reward agrees with a person, as a sentence."""
    if found.share is None:
        return _("There is no pair yet that both you and the reward decided.")
    low, high = found.interval
    told = {
        "agreeing": found.agreeing,
        "decided": found.decided,
        "share": percent(found.share),
        "low": percent(low),
        "high": percent(high),
    }
    return (
        _(
            "The reward agrees with you in %(agreeing)s of the %(decided)s pairs that you and it both "
            "decided: %(share)s (95 %% interval %(low)s – %(high)s). Rewards within 0.05 are a tie."
        )
        % told
    )


def _tag_part(report: Report) -> list[str]:
    if not report.tags:
        return []
    written = score if report.by_reward else percent
    rows = (
        [escaped(row.tag), str(row.count), *(written(share) for share in row.shares)] for row in report.tags
    )
    head = [_("Tag"), _("Scenarios"), *(escaped(one.title) for one in report.contenders)]
    return [f"## {_('By tag')}", _table(head, rows)]


def _changed_part(report: Report, heading: str, change: str) -> list[str]:
    lines = report.shown(change)
    if not lines:
        return [f"## {heading}", _("None.")]
    rows = ([escaped(line.key), escaped(line.prompt), *map(_said, line.cells)] for line in lines)
    return [f"## {heading} ({len(lines)})", _table(_line_head(report), rows)]


def _missing_part(report: Report) -> list[str]:
    lines = report.shown("missing")
    if not lines:
        return []
    rows = (
        [escaped(line.key), escaped(cell.contender.title), escaped(cell.error or _("not played"))]
        for line in lines
        for cell in line.cells
        if cell.outcome == "missing"
    )
    head = [_("Scenario"), _("Contender"), _("Why")]
    return [f"## {_('Missing')}", _table(head, rows)]


def _line_head(report: Report) -> list[str]:
    return [_("Scenario"), _("Asked"), *(escaped(one.title) for one in report.contenders)]


def _said(cell: Cell) -> str:
    words = {"success": _("succeeded"), "failure": _("failed"), "missing": _("missing"), "waiting": "–"}
    reward = f" ({score(cell.reward)})" if cell.reward is not None else ""
    return words[cell.outcome] + reward


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _entity(found: re.Match[str]) -> str:
    """As a character reference: Markdown takes those for text wherever they stand."""
    return f"&#{ord(found.group())};"
