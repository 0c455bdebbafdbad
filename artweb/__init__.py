"""Wiring: settings, urls, asgi, celery, commands. No behaviour lives here."""

from artweb.celery import app as celery_app

__all__ = ["celery_app"]
