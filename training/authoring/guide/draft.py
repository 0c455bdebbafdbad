"""Errands that fill an agent for a person: from a template, from a table, from a description.

Whatever they write is marked as suggested, and what stood there before is in their result. How a draft is
worded is in `drafting`, what tables and questions are in their own modules.
"""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from gpu_worker.tools.tables import TableError
from judging.llm import NoAnswer, Refused
from judging.spending import BudgetSpent
from training.authoring.guide import agents, gallery, suggestions
from training.authoring.guide.drafting import asking, templates
from training.authoring.guide.drafting.proposal import Proposal
from training.authoring.guide.wizard import address
from training.authoring.office.errands import Cancelled, Doing, Failed
from training.authoring.studio import prompt, scenarios
from training.authoring.studio.invent import tables_of
from training.authoring.studio.questions import invent
from training.authoring.toolbox import tables, tool_saving, uploads
from training.authoring.toolbox.tools import Draft as ToolDraft
from training.judges import providers
from training.models import LIVING, Agent, Errand
from training.phrasebook import said
from training.runs import versions

QUESTIONS = 60
"""Questions an agent gets that is made from a table."""
KNOBS = {"reward": "checks", "steps": 80}
"""Every answer stands in the table, and so many steps are what the small model wants for a new one."""
HELPER_OFF = ("", "artweb/offline")


def from_template(doing: Doing) -> dict[str, Any]:
    """Make the agent of a gallery's card. arguments: card."""
    card = gallery.card_called(doing.arguments["card"])
    assert card.make is not None, f"{card.slug} needs a file"
    doing.progress(0, 1, _("Storing tables and questions"))
    agent = card.make(doing.owner)
    return {"agent": agent.pk, "next": address(agent, card.leads_to)}


def from_csv(doing: Doing) -> dict[str, Any]:
    """Make an agent from an uploaded table: its tools, questions and texts.

    arguments: upload and filename as `uploads.keep` returns them.
    Done again after the desk died, it goes on with the agent it had begun.
    """
    agent = doing.errand.agent or _agent_for_file(doing)
    try:
        before = _filled_from(doing, agent)
    except TableError as error:
        _forget(doing, agent)
        raise Failed(str(error)) from None
    except Cancelled:
        _forget(doing, agent)
        raise
    uploads.path_of(doing.arguments["upload"]).unlink(missing_ok=True)
    return {"agent": agent.pk, "before": before, "next": address(agent, "review")}


def draft(doing: Doing) -> dict[str, Any]:
    """Fill prompt, rubric, tools and themes from the agent's description."""
    return _drafted(doing, doing.agent)


def _drafted(doing: Doing, agent: Agent) -> dict[str, Any]:
    if not agent.description.strip():
        raise Failed(_("Say first what the agent is to do; one sentence is enough."))
    doing.progress(0, 2, _("Writing prompt, rubric and tools"))
    proposal = _proposal(agent)
    doing.progress(1, 2, _("Filling the pages"), cost=proposal.cost)
    before = suggestions.fill(agent, proposal.texts)
    added = [tool.pk for tool in _added(agent, proposal.tools)]
    return {"before": before, "tools": added, "themes": list(proposal.themes), "by": proposal.by}


def _proposal(agent: Agent) -> Proposal:
    if agent.judge_model in HELPER_OFF:
        return templates.propose(agent)
    try:
        return asking.propose(agent, agent.judge_model)
    except (NoAnswer, Refused, BudgetSpent, providers.NoProvider) as error:
        told = {"model": agent.judge_model, "why": said(str(error))}
        raise Failed(_("%(model)s could not be asked. %(why)s") % told) from None
    except ValueError:
        told = {"model": agent.judge_model}
        raise Failed(_("The answer of %(model)s could not be read. Try again.") % told) from None


def _added(agent: Agent, drafts: Iterable[ToolDraft]) -> Iterable[Any]:
    """The tools that can be added; one whose name is taken or that is not sound is left out."""
    for each in drafts:
        try:
            yield tool_saving.add(agent, each, suggested=True)
        except tool_saving.Refused:
            continue


def _agent_for_file(doing: Doing) -> Agent:
    """A new agent named after the file; the errand remembers it, should the desk die."""
    stem = PurePath(doing.arguments["filename"]).stem.replace("_", " ").replace("-", " ")
    with transaction.atomic():
        agent = agents.create(owner=doing.owner, name=stem[:1].upper() + stem[1:], template="own_csv")
        agent.config = dict(KNOBS)
        agent.save(update_fields=["config"])
        Errand.objects.filter(pk=doing.errand.pk).update(agent=agent)
        doing.errand.agent = agent
    return agent


def _forget(doing: Doing, agent: Agent) -> None:
    """Nothing came of it: the errand stays, the agent and the file go."""
    uploads.path_of(doing.arguments["upload"]).unlink(missing_ok=True)
    Errand.objects.filter(pk=doing.errand.pk).update(agent=None)
    doing.errand.agent = None
    agent.delete()


def _filled_from(doing: Doing, agent: Agent) -> dict[str, str]:
    told = doing.arguments
    path = uploads.path_of(told["upload"])
    what = _("Reading %(file)s") % {"file": told["filename"][-100:]}
    doing.progress(0, 0, what)
    table = tables.add_table(
        agent,
        path,
        told["filename"],
        upload=told["upload"],
        hints={},
        watch=lambda: doing.progress(0, 0, what),
    )
    _ask_about(doing, agent)
    columns = [column["name"] for column in table.columns]
    agent.description = templates.about_table(agent.name, columns, agent.language)
    texts = {"description": agent.description, "system_prompt": prompt.proposal(agent)}
    before = suggestions.fill(agent, texts)
    suggestions.mark(agent, ("name",))
    return before


def _ask_about(doing: Doing, agent: Agent) -> None:
    """Give the agent its questions, unless it has them already."""
    if agent.scenarios.filter(LIVING).exists():
        return
    what = _("Writing questions and looking up their answers")
    questions = invent(
        tables_of(agent),
        versions.plans_now(agent),
        count=QUESTIONS,
        seed=0,
        language=agent.language,
        on_each=lambda made: doing.progress(made, QUESTIONS, what),
    )
    scenarios.add_questions(agent, questions, source="generated")
