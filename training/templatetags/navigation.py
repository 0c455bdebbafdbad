"""Where the main parts of the site are, and which of them a page belongs to."""

import re
from dataclasses import dataclass

from django import template
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

register = template.Library()

SECTIONS = (
    ("home", gettext_lazy("Runs"), r"/(runs|groups(?!/\d+/lab/)|trajectories|replays|comparisons)/"),
    ("tries", gettext_lazy("Tries"), "/tries/"),
    ("agents", gettext_lazy("Agents"), "/(agents|tables|tools|secrets|errands)/"),
    ("lab", gettext_lazy("Judge lab"), r"/(lab|groups/\d+/lab)/"),
    ("providers", gettext_lazy("Models"), "/providers/"),
    ("endpoint", gettext_lazy("Endpoint"), "/endpoint/"),
)
"""Name of the address, title, and a pattern of how the addresses of its other pages begin."""
ROOMS = (
    ("run", gettext_lazy("Overview")),
    ("groups", gettext_lazy("Groups")),
    ("run_scenarios", gettext_lazy("Scenarios")),
    ("human_scores", gettext_lazy("People's scores")),
    ("comparisons", gettext_lazy("Comparisons")),
)
"""The pages of one run, by the names of their addresses."""


@dataclass(frozen=True)
class Place:
    url: str
    title: str
    here: bool


@register.simple_tag(takes_context=True)
def sections(context: template.Context) -> list[Place]:
    """The parts of the site."""
    request: HttpRequest = context["request"]
    return [
        Place(url := reverse(name), str(title), request.path == url or bool(re.match(others, request.path)))
        for name, title, others in SECTIONS
    ]


@register.simple_tag(takes_context=True)
def rooms(context: template.Context, run_id: int) -> list[Place]:
    """The pages of a run, with its tries and the lab, which stand for all runs, narrowed to it."""
    request: HttpRequest = context["request"]
    places = [
        Place(url := reverse(name, args=[run_id]), str(title), request.path == url) for name, title in ROOMS
    ]
    tries = Place(f"{reverse('tries')}?run={run_id}", gettext("Tries"), False)
    lab = Place(f"{reverse('lab')}?run={run_id}", gettext("Judge lab"), False)
    return [*places[:2], tries, *places[2:], lab]
