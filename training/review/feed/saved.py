"""Saved views: filters of the list of tries under a name, for one person."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from training.models import SavedView
from training.review.feed.filters import read
from training.runs.rows import clean

LONGEST_NAME = 60
MOST_VIEWS = 100


class Refused(Exception):
    """The view cannot be kept so; the text says why."""


def save(*, owner: User, name: str, query: str) -> SavedView:
    """Keep filters under a new name. Raises Refused."""
    if SavedView.objects.filter(owner=owner).count() >= MOST_VIEWS:
        raise Refused(_("You have %(count)s saved views; delete one first.") % {"count": MOST_VIEWS})
    return _kept(SavedView(owner=owner, name=_named(name), query=query[:1000]))


def rename(view: SavedView, name: str) -> SavedView:
    """Raises Refused."""
    view.name = _named(name)
    return _kept(view)


def sound_query(query: dict[str, str]) -> str:
    """The filters of an address as they are kept: only what makes sense."""
    return read(query).filters.query()


def _named(name: str) -> str:
    name = " ".join(clean(name).split())
    if not name:
        raise Refused(_("Give the view a name."))
    if len(name) > LONGEST_NAME:
        raise Refused(_("The name is too long; at most %(count)s characters.") % {"count": LONGEST_NAME})
    return name


def _kept(view: SavedView) -> SavedView:
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        raise Refused(_("You already have a view called “%(name)s”.") % {"name": view.name}) from None
    return view
