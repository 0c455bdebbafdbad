"""What the tools of a run or of a page get from this installation: secrets, programs, paid language models.

Secrets are looked up once, by the names the tools refer to, before any process is forked; their values stay
in the worker. Whom a tool may connect to is decided by the guard (gpu_worker.tools.guard).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from gpu_worker.tools.filling import secret_names
from gpu_worker.types import Outside, ToolError, ToolPlan
from judging.asking import asking
from judging.spending import Purse
from training import secrets
from training.judges import providers
from training.models import Run
from training.runs import mcp_programs, versions

T = TypeVar("T")


def outside_for(run: Run, purse: Purse) -> Outside:
    """For the tools of a run's version."""
    plans = versions.plans_of(run.version) if run.version else ()
    return outside(run.owner, plans, purse)


def outside(owner: User, plans: Sequence[ToolPlan], purse: Purse) -> Outside:
    """For these tools of this person, with language models paid from `purse`.

    Raises training.secrets.SecretRefused or mcp_programs.Unreadable where these cannot be read.
    """
    revealed = secrets.revealed(owner, named_secrets(plans))
    return Outside(
        secret=_from(revealed, _("There is no secret called %(name)s. Add it on the page of secrets.")),
        ask=asking(purse, access=providers.access_by_name(owner, named_models(plans))),
        programs=_from(_programs(plans), _("The operator allows no MCP program called %(name)s.")),
        hosts=frozenset(settings.TOOL_HOSTS),
    )


def named_secrets(plans: Sequence[ToolPlan]) -> set[str]:
    """Names of the secrets that these tools refer to."""
    return {name for plan in plans for name in secret_names(plan.settings)}


def named_models(plans: Sequence[ToolPlan]) -> set[str]:
    """Language models that play these tools."""
    played = (plan for plan in plans if plan.kind == "simulated")
    return {str(plan.settings["model"]) for plan in played if plan.settings.get("model")}


def _programs(plans: Sequence[ToolPlan]) -> Mapping[str, tuple[str, ...]]:
    """Read only where a tool wants one, so that a broken file troubles nobody else."""
    wanted = any(plan.kind == "mcp" and plan.settings.get("program") for plan in plans)
    return mcp_programs.allowed() if wanted else {}


def _from(known: Mapping[str, T], sentence: str) -> Callable[[str], T]:
    def named(name: str) -> T:
        if name not in known:
            raise ToolError(sentence % {"name": name})
        return known[name]

    return named
