"""`manage.py bench BAR…`: measures ArtWeb against the named peers; bench/ has the bars and the story."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from bench import run


class Command(BaseCommand):
    help = "Measure speed and exactness side by side with the peers; without a bar, say which there are."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        run.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        status = run.main(options)
        if status:
            sys.exit(status)
