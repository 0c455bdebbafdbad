"""Names of what a run is made of, for templates."""

from django import template

from training.models import Group
from training.runs import words

register = template.Library()


@register.filter
def named(group: Group) -> str:
    """Where the group stands in its run: "Step 3, group 7", "Before training, scenario 12"."""
    return words.group_name(group.label, group.step, group.index)
