"""`manage.py tidy`: takes away what the retention settings let go, and gives the space back."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from training.runs import retention


class Command(BaseCommand):
    help = "Take away token records, transcripts and log lines of old runs, as ARTWEB_KEEP_… say."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument(
            "--rewrite",
            action="store_true",
            help="rewrite the SQLite file once, so that it can shrink from now on; stop ArtWeb before",
        )

    def handle(self, *, dry_run: bool, rewrite: bool, **options: Any) -> None:
        if dry_run:
            self._say(retention.due(), "would go")
            return
        if rewrite:
            retention.make_shrinkable()
        self._say(retention.tidy(), "are gone")
        self.stdout.write(f"{retention.shrink()} pages of the database file were given back to the disk.")

    def _say(self, counts: dict[str, int], what: str) -> None:
        names = {"tokens": "token records", "transcripts": "transcripts", "log": "log lines"}
        for name, limit in retention.limits().items():
            kept = "all are kept" if limit.off else f"{counts[name]} {what}"
            self.stdout.write(f"{names[name]}: {kept}")
