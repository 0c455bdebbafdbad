"""A table of one's own: the file is read at the desk, and everything else is drafted from it."""

from django.utils.translation import gettext_lazy

from training.authoring.guide.gallery.card import Card

CARD = Card(
    slug="own_csv",
    place=10,
    title=gettext_lazy("Your own table"),
    teaches=gettext_lazy(
        "Answer questions from a table: find rows, count and search them, and say so when there is none."
    ),
    minutes=gettext_lazy("a few minutes on two cores"),
    comes_with=gettext_lazy("Tools made from its columns, and 60 questions with answers looked up in it."),
    button=gettext_lazy("Use this file"),
)
