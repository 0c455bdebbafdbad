"""How a finished run can be talked to, for the part of its page that says so."""

from django import template
from django.template import Context

from training.models import Run
from training.serving.endpoint import Offer, offer_of_run
from training.serving.pages import base_url

register = template.Library()


@register.simple_tag(takes_context=True)
def offer_for(context: Context, run: Run) -> Offer | None:
    """Needs the request, for the address; uses a key that was just made, if there is one."""
    return offer_of_run(run, base_url=base_url(context["request"]), key=context.get("fresh"))
