"""How numbers are written: shares as per cent, scores with two decimals, durations in words."""

from django import template
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def percent(share: float | None) -> str:
    """0.375 -> "38 %"."""
    return "–" if share is None else _("%(number)s %%") % {"number": f"{share * 100:.0f}"}


@register.filter
def fine_percent(share: float | None) -> str:
    """0.0042 -> "0.4 %": for shares that are small when all is well."""
    told = "" if share is None else f"{share * 100:.1f}".removesuffix(".0")
    return _("%(number)s %%") % {"number": told} if told else "–"


@register.filter
def to(low: float, high: float) -> str:
    """The interval from one share to another: "31–45 %"."""
    return percent(high).replace(f"{high * 100:.0f}", f"{low * 100:.0f}–{high * 100:.0f}", 1)


@register.filter
def score(value: float | None) -> str:
    """0.4142 -> "0.41"."""
    return "–" if value is None else f"{value:.2f}"


@register.filter
def signed(value: float | None) -> str:
    """0.5 -> "+0.50", with a true minus sign for negative numbers."""
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


@register.filter
def figure(value: float | None) -> str:
    """A number of any size, short: 12345 -> "12,345", 0.00031 -> "0.00031", 0.0000031 -> "3.1e-06"."""
    if value is None:
        return "–"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.3f}" if abs(value) >= 0.001 else f"{value:.2g}"


@register.filter
def dollars(amount: float | None) -> str:
    """1.2 -> "$1.20", 0.004 -> "<$0.01"."""
    if amount is None:
        return "–"
    return "<$0.01" if 0 < amount < 0.01 else f"${amount:,.2f}"


@register.filter
def fine_dollars(amount: float | None) -> str:
    """1.2 -> "$1.20", 0.00412 -> "$0.0041": for sums that are often below a cent."""
    if amount is None or amount == 0 or abs(amount) >= 0.01:
        return dollars(amount)
    return (
        f"${amount:.7f}".rstrip("0")
        if abs(amount) < 0.00001
        else f"${float(f'{amount:.2g}'):.6f}".rstrip("0")
    )


@register.filter
def duration(seconds: float | None) -> str:
    """95 -> "1 min 35 s", 2.84 -> "2.8 s"."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if seconds < 9.95:
        return _("%(seconds)s s") % {"seconds": f"{seconds:.1f}".removesuffix(".0")}
    if whole < 60:
        return _("%(seconds)s s") % {"seconds": whole}
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}
    return _("%(hours)s h %(minutes)s min") % {"hours": minutes // 60, "minutes": minutes % 60}


@register.filter
def roughly(seconds: float) -> str:
    """An estimate, no finer than it can be: 8.4 -> "8 s", 37 -> "35 s", 223 -> "3 min 40 s"."""
    grain = 1 if seconds < 10 else 5 if seconds < 60 else 10 if seconds < 600 else 60
    told = max(1, grain * round(seconds / grain))
    if told % 60 == 0 and told < 3600:
        return _("%(minutes)s min") % {"minutes": told // 60}
    return duration(told)


@register.filter
def bar(share: float | None) -> str:
    """A share between 0 and 1 as the width of a 100-wide drawing."""
    return f"{max(0.0, min(1.0, share or 0.0)) * 100:.1f}"


@register.filter
def rise(share: float, height: int) -> str:
    """How tall the bar of a share is in a drawing `height` tall; never so short that it vanishes."""
    return f"{max(0.06, min(1.0, share)) * height:.1f}"


@register.filter
def drop(share: float, height: int) -> str:
    """Where that bar begins, from the top."""
    return f"{height - max(0.06, min(1.0, share)) * height:.1f}"


@register.filter
def places(count: int) -> range:
    """0, 1, … count - 1, for loops in templates."""
    return range(count)


@register.filter
def visible(text: str) -> str:
    """A token's text with its line breaks made visible; an empty one is a part of a character."""
    return text.replace("\n", "⏎\n").replace("\t", "⇥\t") or "·"


@register.filter
def canvas(tries: int) -> int:
    """How wide the drawing of a group's bars is, ten a try; a single try gets no wider a bar than others."""
    return 10 * max(8, tries)
