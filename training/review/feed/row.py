"""A try in the list: its words, and its HTML.

The HTML is written in plain Python: as nodes of a template, fifty rows took a third of the page's time.
Every text is escaped here, whoever said it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString, mark_safe

from training.models import Run
from training.review.feed.wanted import Snippet


@dataclass(frozen=True)
class Row:
    """A try in words. `marks` are (kind of chip, words); prompt and answer are beginnings."""

    id: int
    run: Run
    place: str
    score: str
    width: str
    person: str
    success: bool
    prompt: str
    answer: str
    marks: list[tuple[str, str]]
    tags: list[str]
    snippet: Snippet | None


def html(rows: Iterable[Row], *, with_run: bool) -> SafeString:
    """List items; `with_run` where the list is of several runs."""
    return mark_safe("\n".join(_item(row, with_run) for row in rows))


def _item(row: Row, with_run: bool) -> str:
    return f"""<li class="try-row">
      <div class="try-score num">{_score(row)}</div>
      <div class="try-what">
        <p class="try-title"><a class="try-link" href="/trajectories/{row.id}/">{escape(row.place)}</a>\
{_run(row.run) if with_run else ""}</p>
        <p class="small soft try-said" dir="auto">{escape(row.prompt)}</p>
        {_found(row.id, row.snippet) if row.snippet else _answer(row.answer)}
      </div>
      <ul class="row try-marks">{_chips(row)}</ul>
    </li>"""


def _score(row: Row) -> str:
    good = " bar-good" if row.success else ""
    person = f'<span class="tiny">{escape(row.person)}</span>' if row.person else ""
    return (
        f'<b>{escape(row.score)}</b><svg viewBox="0 0 100 4" preserveAspectRatio="none" class="score-bar" '
        'aria-hidden="true"><rect class="bar-ground" width="100" height="4"></rect>'
        f'<rect class="bar-fill{good}" width="{escape(row.width)}" height="4"></rect></svg>{person}'
    )


def _run(run: Run) -> str:
    return f' <a class="small muted" href="/runs/{run.pk}/">{escape(run.name)}</a>'


def _found(try_id: int, told: Snippet) -> str:
    """What was searched for, with a link to the message that says it."""
    words = f"{escape(told.before)}<mark>{escape(told.match)}</mark>{escape(told.after)}"
    link = f'<a class="try-found" href="/trajectories/{try_id}/#m{told.message}">{words}</a>'
    return f'<p class="small try-said" dir="auto">{link}</p>'


def _answer(answer: str) -> str:
    return f'<p class="small muted try-said" dir="auto">{escape(answer)}</p>' if answer else ""


def _chips(row: Row) -> str:
    marks = [
        f'<li><span class="chip num {escape(kind)}">{escape(mark)}</span></li>' for kind, mark in row.marks
    ]
    tags = [f'<li><span class="chip accent" dir="auto">{escape(tag)}</span></li>' for tag in row.tags]
    return "".join(marks + tags)
