"""Yes, no, maybe: the smallest thing that can be learned, with a reward of its own."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gpu_worker.environments import ENVIRONMENTS
from training.authoring.guide import agents
from training.authoring.guide.gallery.card import Card
from training.authoring.guide.gallery.practice import practice
from training.models import Agent, Scenario

ENVIRONMENT = ENVIRONMENTS["yes_no_maybe"]
COUNTS = {"train": 200, "val": 48, "test": 60}


def make(owner: User) -> Agent:
    agent = agents.create(
        owner=owner,
        name=_("Yes, no, maybe"),
        environment=ENVIRONMENT.name,
        template=CARD.slug,
        description=_("Answer with one word. “Maybe” is worth most, “no” less, “yes” least."),
        system_prompt=ENVIRONMENT.system_prompt,
        config={"reward": "environment"},
    )
    Scenario.objects.bulk_create(practice(agent, ENVIRONMENT, COUNTS))
    return agent


CARD = Card(
    slug="yes_no_maybe",
    place=30,
    title=gettext_lazy("Yes, no, maybe"),
    teaches=gettext_lazy(
        "The smallest thing an agent can learn: which of three words is worth most. Watch the reward rise."
    ),
    minutes=gettext_lazy("about 1 minute on two cores"),
    expected=gettext_lazy("from 33 % to 100 % of unseen questions right in 40 steps, as measured"),
    comes_with=gettext_lazy("308 one-word questions and a reward of its own; no tools, no judge."),
    button=gettext_lazy("Use this template"),
    make=make,
)
