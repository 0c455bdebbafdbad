"""Many rows into a table by one prepared statement, where the ORM would cost more than the database.

Values are given as the database takes them: JSON as text, moments from `now()`. Which rows are written, and
in which transaction, is left to the recorder; `new_ids` must be asked for inside it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Model
from django.utils import timezone

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """A model and the columns its rows are given in."""

    model: type[Model]
    columns: tuple[str, ...]

    @cached_property
    def sql(self) -> str:
        quote = connection.ops.quote_name
        names = ", ".join(map(quote, self.columns))
        places = ", ".join(["%s"] * len(self.columns))
        return f"INSERT INTO {quote(self.model._meta.db_table)} ({names}) VALUES ({places})"

    def insert(self, rows: Iterable[Values]) -> None:
        given = list(rows)
        if given:
            with connection.cursor() as cursor:
                cursor.executemany(self.sql, given)

    def new_ids(self, count: int) -> Sequence[int]:
        """Ids that nobody else gets. In SQLite the transaction must be a writing one, as ours always are."""
        name = self.model._meta.db_table
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [name])
                newest = cursor.fetchone()
                first = newest[0] + 1 if newest else 1
                return range(first, first + count)
            sequence = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
            cursor.execute(sequence, [name, count])
            return [row[0] for row in cursor.fetchall()]


def now() -> Any:
    """This moment as a value of a column."""
    return connection.ops.adapt_datetimefield_value(timezone.now())
