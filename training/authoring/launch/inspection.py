"""The errand "inspect": what only the desk can find out: does the judge answer, is a worker there?

Nothing here decides whether a run may start; that is preflight's business.
"""

import asyncio
import time
from typing import Any

from celery import current_app
from django.utils.translation import gettext as _

from judging import offline
from judging.llm import Model, NoAnswer, Refused
from judging.spending import BudgetSpent, Purse
from training import secrets
from training.authoring.office.errands import Doing
from training.judges import providers
from training.models import LIVING, Agent
from training.phrasebook import said
from training.runs import versions
from training.runs.outside import named_secrets

QUESTION = [{"role": "user", "content": "Answer with the word ready and nothing else."}]
PATIENCE = 20.0
WORKERS_ANSWER_WITHIN = 1.5


def inspect(doing: Doing) -> dict[str, Any]:
    """{judge: {model, ok, says, seconds}, worker: {ok}, secrets: {ok, says}, cost}."""
    agent = doing.agent
    doing.progress(0, 3, _("Asking the judge"))
    purse = Purse()
    judge = judge_answers(agent, purse)
    doing.progress(1, 3, _("Looking for a worker"), cost=purse.spent)
    worker = {"ok": bool(workers())}
    doing.progress(2, 3, _("Opening secrets"), cost=purse.spent)
    return {"judge": judge, "worker": worker, "secrets": secrets_open(agent), "cost": purse.spent}


def judge_answers(agent: Agent, purse: Purse) -> dict[str, Any]:
    """Whether the judge answers a tiny question, how fast, or why not."""
    model = agent.judge_model
    if not providers.judged(agent) or model == offline.MODEL:
        return {"model": model, "ok": True, "says": "", "seconds": 0.0}
    began = time.monotonic()
    try:
        access = providers.access_for(agent.owner, model)
        asyncio.run(Model(access, purse=purse, attempts=1, timeout=PATIENCE).complete(QUESTION))
    except (NoAnswer, Refused, BudgetSpent, providers.NoProvider) as error:
        return {
            "model": model,
            "ok": False,
            "says": said(str(error))[:500],
            "seconds": time.monotonic() - began,
        }
    return {"model": model, "ok": True, "says": "", "seconds": time.monotonic() - began}


def secrets_open(agent: Agent) -> dict[str, Any]:
    """Whether the secrets that the tools name can be opened with the key of this installation."""
    names = named_secrets(versions.plans_now(agent)) if agent.tools.filter(LIVING).exists() else set()
    try:
        secrets.revealed(agent.owner, names)
    except secrets.SecretRefused as refused:
        return {"ok": False, "says": str(refused)}
    return {"ok": True, "says": ""}


def workers() -> list[str]:
    """Names of the workers that train and answer now."""
    answers = current_app.control.ping(timeout=WORKERS_ANSWER_WITHIN) or []
    return [name for answer in answers for name in answer if not name.startswith("desk@")]
