"""Sockets that show a run live."""

from django.urls import URLPattern, URLResolver

websocket_urls: list[URLPattern | URLResolver] = []
