"""Is this agent ready to be trained? All that is checked before "Start", each with what to do about it.

Blocking checks keep a run from starting, others only advise. What takes a while (asking the judge, pinging a
worker, a smoke try) was found out by errands; here their newest results are read.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gpu_worker.types import AUTHORED
from judging import offline
from training.authoring.guide import wizard
from training.authoring.launch import smoke
from training.authoring.launch.estimate import Estimate
from training.authoring.launch.measured import last_smoke
from training.authoring.launch.memory import gigabytes
from training.authoring.studio import audit
from training.authoring.toolbox import tools as all_tools
from training.judges import providers
from training.models import LIVING, Agent, Errand, Run
from training.runs import fitness

State = Literal["ok", "advice", "blocks", "unknown"]
URGENCY: tuple[State, ...] = ("blocks", "advice", "unknown", "ok")
FRESH = timedelta(minutes=10)
"""How long what the desk found out counts."""
ENOUGH_DISK, LITTLE_DISK = 3e9, 0.5e9


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `url` leads to where it can be mended, `mend` says so."""

    name: str
    state: State
    says: str
    url: str = ""
    mend: str = ""


def checks(agent: Agent, found: Estimate) -> list[Check]:
    """All checks, those that need something done first."""
    inspected = inspection(agent)
    found_out = [
        *_pages(agent),
        *_fitness(agent),
        _judge(agent, inspected),
        _worker(inspected),
        *_secrets(inspected),
        _memory(found),
        _disk(),
        *_tools(agent),
        *_scenarios(agent),
        _smoke(agent),
    ]
    return sorted(found_out, key=lambda check: URGENCY.index(check.state))


def blocking(found: Sequence[Check]) -> list[Check]:
    """Those that keep a run from starting."""
    return [check for check in found if check.state == "blocks"]


def inspection(agent: Agent) -> Errand | None:
    """What the desk found out lately about this agent as it is now."""
    since = timezone.now() - FRESH
    done = Errand.objects.filter(
        agent=agent, kind="inspect", state=Errand.State.DONE, finished_at__gt=since
    ).order_by("-pk")
    newest = done.first()
    if newest is None or newest.result["judge"]["model"] != agent.judge_model:
        return None
    return newest


def under_way(agent: Agent, kind: str) -> Errand | None:
    """The agent's errand of that kind that is not over yet."""
    going = Errand.objects.filter(agent=agent, kind=kind).exclude(state__in=Errand.OVER)
    return going.order_by("-pk").first()


def _pages(agent: Agent) -> list[Check]:
    """What the other pages of the wizard still ask for."""
    return [
        Check(str(step.page.title), "blocks", sentence, step.url, _("Go there"))
        for step in wizard.steps_of(agent)
        if step.page.slug != "review"
        for sentence in step.needs
    ]


def _fitness(agent: Agent) -> list[Check]:
    refused = fitness.complaint(agent)
    return [Check(_("Tools"), "blocks", refused, _tools_page(agent), _("Go there"))] if refused else []


def _judge(agent: Agent, inspected: Errand | None) -> Check:
    name = _("Judge")
    if not providers.judged(agent):
        return Check(name, "ok", _("No judge gives the reward, so none is needed."))
    if agent.judge_model == offline.MODEL:
        return Check(name, "ok", _("The offline judge is always there."))
    unnamed = providers.refusal(agent.owner, agent.judge_model)
    if unnamed:
        return Check(name, "blocks", unnamed, reverse("providers"), _("To the providers"))
    if inspected is None:
        return Check(
            name, "unknown", _("Not asked yet whether %(model)s answers.") % {"model": agent.judge_model}
        )
    told = {"model": agent.judge_model, "seconds": f"{inspected.result['judge']['seconds']:.1f}"}
    if inspected.result["judge"]["ok"]:
        return _answered(agent, told)
    told["says"] = inspected.result["judge"]["says"]
    says = _("%(model)s does not answer: %(says)s") % told
    return Check(name, "blocks", says, *_where_to_mend(agent))


def _answered(agent: Agent, told: dict[str, str]) -> Check:
    """Of a judge whose price nobody knows no budget can be kept, so no run with one can start."""
    name, price = _("Judge"), providers.price_of(agent.owner, agent.judge_model)
    if price is not None:
        told |= {"question": f"{price.question * 1e6:.2f}", "answer": f"{price.answer * 1e6:.2f}"}
        says = _(
            "%(model)s answered in %(seconds)s s; its key is valid. It costs $%(question)s for a million "
            "tokens of question and $%(answer)s of answer."
        )
        return Check(name, "ok", says % told)
    if agent.config.get("budget"):
        says = _("%(model)s answers, but nobody here knows its price, so the budget cannot be kept.") % told
        return Check(name, "blocks", says, reverse("providers"), _("Say what it costs"))
    says = _("%(model)s answered in %(seconds)s s; what it costs nobody here knows.") % told
    return Check(name, "advice", says, reverse("providers"), _("Say what it costs"))


def _where_to_mend(agent: Agent) -> tuple[str, str]:
    """The provider's own page, else the page on which a judge is chosen."""
    name, _model = providers.split(agent.judge_model)
    if name:
        return reverse("providers"), _("Test the provider")
    return wizard.address(agent, "reward"), _("Choose another judge, or add its provider with a key")


def _worker(inspected: Errand | None) -> Check:
    name = _("Worker")
    if Run.objects.filter(state__in=Run.ACTIVE, lease_until__gt=timezone.now()).exists():
        return Check(name, "ok", _("A worker is training another run; yours waits its turn."))
    if inspected is None:
        return Check(name, "unknown", _("Not asked yet whether a worker is there."))
    if inspected.result["worker"]["ok"]:
        return Check(name, "ok", _("A worker is there and free."))
    return Check(
        name, "advice", _("No worker answers at the moment. The run will wait until one is started.")
    )


def _secrets(inspected: Errand | None) -> list[Check]:
    if inspected is None or inspected.result["secrets"]["ok"]:
        return []
    return [Check(_("Secrets"), "blocks", inspected.result["secrets"]["says"])]


def _memory(found: Estimate) -> Check:
    name, memory = _("Memory"), found.memory
    if memory.fits == "too_large":
        says = _("%(words)s. Fewer tries at once, a shorter context or a smaller model need less.")
        return Check(name, "blocks", says % {"words": memory.words})
    if memory.fits == "tight":
        says = _("%(words)s. Close other programs, or the machine may slow down.")
        return Check(name, "advice", says % {"words": memory.words})
    return Check(name, "ok" if memory.fits == "fits" else "unknown", memory.words)


def _disk() -> Check:
    free = shutil.disk_usage(settings.DATA_DIR).free
    told = {"free": gigabytes(free)}
    if free < LITTLE_DISK:
        return Check(
            _("Disk"), "blocks", _("Only %(free)s are free. Checkpoints need room: free some.") % told
        )
    if free < ENOUGH_DISK:
        return Check(_("Disk"), "advice", _("%(free)s are free, which is little for checkpoints.") % told)
    return Check(_("Disk"), "ok", _("%(free)s are free.") % told)


def _tools(agent: Agent) -> list[Check]:
    if agent.environment != AUTHORED:
        return []
    found = list(agent.tools.filter(LIVING))
    where, mend = _tools_page(agent), _("Go there")
    if not found:
        says = _("It has no tools: it answers from what it knows and from its prompt alone.")
        return [Check(_("Tools"), "advice", says, where, mend)]
    untested = [tool for tool in found if not all_tools.tested(tool)]
    if untested:
        told = {"count": len(untested), "names": ", ".join(tool.name for tool in untested[:5])}
        says = ngettext(
            "%(count)s tool was not called by hand since its last change: %(names)s.",
            "%(count)s tools were not called by hand since their last change: %(names)s.",
            len(untested),
        )
        return [Check(_("Tools"), "advice", says % told, where, _("Try it in the console"))]
    return [Check(_("Tools"), "ok", _("Every tool was called by hand since its last change."))]


def _scenarios(agent: Agent) -> list[Check]:
    found, where = audit.of(agent), wizard.address(agent, "scenarios")
    if not found.count:
        return []
    if found.twins:
        says = ngettext(
            "%(count)s scenario asks nearly the same as another one.",
            "%(count)s scenarios ask nearly the same as others.",
            len(found.twins),
        )
        told = {"count": len(found.twins)}
        return [Check(_("Scenarios"), "advice", says % told, where, _("Go there"))]
    return [] if found.leaks else [Check(_("Scenarios"), "ok", _("No scenario leaks between splits."))]


def _smoke(agent: Agent) -> Check:
    name = _("Smoke try")
    errand = last_smoke(agent)
    if errand is None:
        return Check(
            name, "unknown", _("A few tries by the untrained model would show what it makes of this.")
        )
    told = smoke.verdict(errand.result)
    return Check(name, "ok" if told.tone == "good" else "advice", told.advice, "#smoke")


def _tools_page(agent: Agent) -> str:
    return wizard.address(agent, "tools") if agent.environment == AUTHORED else reverse("agents")
