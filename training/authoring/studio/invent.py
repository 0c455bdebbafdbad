"""The errands that invent scenarios: from tables without any model, or with a language model that is paid.

Offline questions and their answers come from `questions`; what a language model proposes is made checkable
in `proposals`. Either way the new scenarios share no row and no words with those in other splits.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath
from time import monotonic
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.tools.tables import TableError, open_table
from training.authoring.office.errands import Doing, Failed
from training.authoring.studio import audit, scenarios
from training.authoring.studio.proposals.batches import Proposer
from training.authoring.studio.questions import KINDS, Question, QuestionTable
from training.authoring.studio.questions import invent as invented
from training.authoring.studio.questions.values import flat
from training.judges.providers import NoProvider
from training.models import LIVING, Agent, TableFile
from training.runs import versions
from training.runs.mcp_programs import Unreadable
from training.secrets import SecretRefused

SOURCE = "generated"
MOST_AT_ONCE = 500
USUAL = 60
EVERY = 0.4
"""Seconds between two signs of life."""


def invent(doing: Doing) -> dict[str, Any]:
    """Errand: add scenarios. arguments, all optional: count, kinds, language, seed, and model.

    Without a model they are questions about the agent's tables, with one whatever its tools can do.
    """
    if doing.arguments.get("model"):
        return _proposed(doing, _wanted(doing), like=())
    kinds = [kind for kind in doing.arguments.get("kinds") or () if kind in KINDS]
    return _offline(doing, _wanted(doing), kinds=kinds or None)


def more_like(doing: Doing) -> dict[str, Any]:
    """Errand: add scenarios of the kinds, tables and columns of others.

    arguments: like, their keys; and those of `invent` but kinds.
    """
    keys = set(doing.arguments.get("like") or ())
    like = [question for question in audit.questions_of(doing.agent) if question.scenario.id in keys]
    if not like:
        raise Failed(_("The scenarios to make more of are gone; choose others."))
    if doing.arguments.get("model"):
        return _proposed(doing, _wanted(doing), like=like)
    kinds = Counter(question.kind for question in like if question.kind in KINDS)
    if not kinds:
        raise Failed(_("These were written by hand; name a language model to make more like them."))
    return _offline(doing, _wanted(doing), kinds=kinds, columns=_columns_of(doing.agent, like), like=like)


def tables_of(agent: Agent) -> list[QuestionTable]:
    """The tables the agent's tools look into, under the names of the files they came from."""
    found = {
        table.sha256: QuestionTable(
            table.name, open_table(versions.table_path(table.sha256)), PurePath(table.filename).stem
        )
        for table in TableFile.objects.filter(LIVING, agent=agent).order_by("pk")
    }
    return list(found.values())


def _wanted(doing: Doing) -> int:
    """How many are still to be made: those an attempt made that died count."""
    count = min(int(doing.arguments.get("count") or USUAL), MOST_AT_ONCE)
    made = doing.agent.scenarios.filter(source=SOURCE, created_at__gte=doing.errand.created_at)
    return count - (made.count() if doing.errand.attempts > 1 else 0)


def _language(doing: Doing) -> str:
    return str(doing.arguments.get("language") or doing.agent.language)


def _seed(doing: Doing) -> int:
    return int(doing.arguments.get("seed") or doing.errand.pk)


def _offline(
    doing: Doing, wanted: int, *, kinds: Any, columns: Sequence[str] = (), like: Sequence[Question] = ()
) -> dict[str, Any]:
    what = _("Writing questions and looking up their answers")
    doing.progress(0, wanted, what)
    questions = invented(
        _tables_like(_tables(doing.agent), like),
        versions.plans_now(doing.agent),
        count=wanted,
        seed=_seed(doing),
        language=_language(doing),
        kinds=kinds,
        columns=columns,
        avoid=audit.questions_of(doing.agent),
        on_each=_now_and_then(lambda made: doing.progress(made, wanted, what)),
    )
    if not questions:
        raise Failed(
            _("The tables hold no more questions of these kinds. Add rows, or let tools show more columns.")
        )
    made = _saved(doing, questions)
    doing.progress(len(made), wanted, what)
    return {"made": len(made), "wanted": wanted, "checked": len(made), "cost": 0.0}


def _tables(agent: Agent) -> list[QuestionTable]:
    try:
        tables = tables_of(agent)
    except TableError as error:
        raise Failed(str(error)) from None
    if not tables:
        raise Failed(_("Without a table nothing can be made offline: add a table on the page Tools."))
    return tables


def _saved(doing: Doing, questions: Sequence[Question]) -> list[int]:
    try:
        return scenarios.add_questions(doing.agent, questions, source=SOURCE)
    except scenarios.Refused as refused:
        raise Failed(str(refused)) from None


def _now_and_then(tell: Callable[[int], None]) -> Callable[[int], None]:
    """Tells at most so often."""
    last = monotonic()

    def perhaps(made: int) -> None:
        nonlocal last
        if monotonic() - last > EVERY:
            last = monotonic()
            tell(made)

    return perhaps


def _tables_like(tables: Sequence[QuestionTable], like: Sequence[Question]) -> list[QuestionTable]:
    """The tables that these questions rest on; all where there are none."""
    named = {row.split(":", 1)[0] for question in like for row in question.rows}
    return [table for table in tables if table.name in named or not named]


def _columns_of(agent: Agent, like: Sequence[Question]) -> list[str]:
    """Table.column of what these questions ask for: where the answer stands in the rows they rest on."""
    tables = {table.name: table for table in tables_of(agent)}
    found: dict[str, None] = {}
    for question in like:
        answers = {text for texts in question.scenario.expect.get("answer_has", ()) for text in texts}
        for token in question.rows:
            name, _colon, row = token.partition(":")
            if name in tables and row.isdigit() and int(row) <= tables[name].stored.count_rows:
                cells = zip(tables[name].stored.names, tables[name].stored.row(int(row)), strict=True)
                found |= dict.fromkeys(f"{name}.{column}" for column, cell in cells if flat(cell) in answers)
    return list(found)


def _proposed(doing: Doing, wanted: int, *, like: Sequence[Question]) -> dict[str, Any]:
    """Batch after batch by a language model; what a batch brought stays when the errand ends early."""
    try:
        proposer = Proposer(
            doing.agent,
            model=str(doing.arguments["model"]),
            tables=tables_of(doing.agent),
            language=_language(doing),
            seed=_seed(doing),
            known=audit.questions_of(doing.agent),
            like=like,
        )
    except (TableError, SecretRefused, Unreadable, NoProvider) as error:
        raise Failed(str(error)) from None
    what = _("Asking %(model)s for scenarios") % {"model": doing.arguments["model"]}
    made = checked = 0
    while made < wanted:
        batch = proposer.next(
            wanted - made,
            alive=lambda: doing.progress(made, wanted, what, cost=proposer.cost),  # noqa: B023
        )
        if not batch:
            break
        made += len(_saved(doing, batch))
        checked += sum(bool(question.scenario.expect) for question in batch)
    if not made:
        raise Failed(proposer.complaint or _("Every scenario it proposed was there already."))
    return {
        "made": made,
        "wanted": wanted,
        "checked": checked,
        "cost": proposer.cost,
        "dropped": {why: count for why, count in proposer.dropped.items() if count},
        "note": proposer.complaint,
    }
