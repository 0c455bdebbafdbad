"""An agent with nothing in it."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from training.authoring.guide import agents
from training.authoring.guide.gallery.card import Card
from training.models import Agent


def make(owner: User) -> Agent:
    return agents.create(owner=owner, name=_("New agent"), template=CARD.slug)


CARD = Card(
    slug="blank",
    place=90,
    title=gettext_lazy("Blank"),
    teaches=gettext_lazy("Describe the task in your own words, and let ArtWeb draft the rest."),
    comes_with=gettext_lazy("Nothing: tools and scenarios are yours to add."),
    button=gettext_lazy("Start blank"),
    make=make,
    leads_to="describe",
)
