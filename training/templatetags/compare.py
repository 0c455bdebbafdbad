"""How figures of comparisons are written."""

from django import template

from training.review.compare import exports
from training.review.compare.blind.tally import Agreement
from training.review.compare.report import Report
from training.templatetags.figures import percent, score

register = template.Library()


@register.filter
def measure(value: float | None, report: Report) -> str:
    """A share as per cent, or a mean score where scores decide."""
    return score(value) if report.by_reward else percent(value)


@register.filter
def chance(p: float | None) -> str:
    """0.0004 -> "<0.001"."""
    return exports.chance(p)


@register.filter
def agreement(found: Agreement) -> str:
    """How far the reward agrees with a person, as a sentence."""
    return exports.agreement(found)


@register.filter
def price(amount: float | None) -> str:
    """Dollars of one try, which may be very few: 0.00042 -> "$0.00042"."""
    if amount is None:
        return "–"
    return "$0" if amount == 0 else f"${amount:.2f}" if amount >= 0.1 else f"${amount:.2g}"


@register.filter
def mean(value: float | None) -> str:
    """41.26 -> "41.3"."""
    return "–" if value is None else f"{value:.1f}".removesuffix(".0")
