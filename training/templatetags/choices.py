"""What a select offers, in one go: a form's options as nodes of a template cost more than its page."""

from collections.abc import Mapping
from html import escape

from django import template
from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_tag
def options(named: Mapping[str | int, str | Promise], chosen: str | int | None) -> SafeString:
    """One option for each name, by its value."""
    return mark_safe("".join(_option(value, str(name), value == chosen) for value, name in named.items()))


def _option(value: str | int, name: str, chosen: bool) -> str:
    selected = " selected" if chosen else ""
    return f'<option value="{escape(str(value))}"{selected}>{escape(name)}</option>'
