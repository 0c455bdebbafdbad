"""Texts whose differing words are marked, for templates."""

from functools import lru_cache

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from training.review.groups.wording import Piece

register = template.Library()


@register.filter
@lru_cache(maxsize=4096)
def marked(pieces: tuple[Piece, ...]) -> SafeString:
    """The pieces as escaped text, those that differ as <mark>."""
    return format_html_join("", "{}", ((_marked(piece),) for piece in pieces))


def _marked(piece: Piece) -> SafeString | str:
    return format_html("<mark>{}</mark>", piece.text) if piece.differs else piece.text
