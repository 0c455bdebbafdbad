"""A rubric tried in the lab becomes the agent's own, as a new version."""

from django.contrib.auth.models import User
from django.db import transaction

from judging.rubric import DEFAULT, unwrapped
from training.judges import rubrics
from training.models import Agent
from training.runs import jobs
from training.runs.rows import clean


def sound(text: str) -> str:
    """As it is kept: clean, not too long, and empty where it is the default word for word, wrapped or not."""
    kept = clean(text.replace("\r\n", "\n")).strip()[: jobs.TEXTS["rubric"]]
    return "" if unwrapped(kept) == unwrapped(DEFAULT).strip() else kept


def keep(agent: Agent, text: str, *, author: User, note: str = "") -> None:
    """Make it the agent's rubric; what stood there is a version before, and so is this one."""
    with transaction.atomic():
        rubrics.take_back(agent, sound(text), author=author)
        rubrics.keep(agent, author=author, note=note)
