"""Many rows into a table by one prepared statement, where Django would cost more than the database.

Statements go to the driver, inside the connection and the transaction that Django opened; what it raises is
Django's as ever.

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
        places = ", ".join([_place()] * len(self.columns))
        return f"INSERT INTO {quote(self.model._meta.db_table)} ({names}) VALUES ({places})"

    def insert(self, rows: Iterable[Values]) -> None:
        given = list(rows)
        if given:
            with connection.wrap_database_errors:
                connection.connection.cursor().executemany(self.sql, given)

    def new_ids(self, count: int) -> Sequence[int]:
        """Ids that nobody else gets. In SQLite the transaction must be a writing one, as ours always are."""
        name = self.model._meta.db_table
        if connection.vendor == "sqlite":
            newest = told("SELECT seq FROM sqlite_sequence WHERE name = %s", [name])
            first = newest[0][0] + 1 if newest else 1
            return range(first, first + count)
        sequence = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
        return [row[0] for row in told(sequence, [name, count])]


def told(sql: str, values: Sequence[Any]) -> list[Values]:
    """The rows that a statement with a %s for each value gives back."""
    with connection.wrap_database_errors:
        cursor = connection.connection.cursor()
        return list(cursor.execute(sql.replace("%s", _place()), values).fetchall())


def _place() -> str:
    """How the driver writes the place of a value."""
    return "?" if connection.vendor == "sqlite" else "%s"


def now() -> Any:
    """This moment as a value of a column."""
    return connection.ops.adapt_datetimefield_value(timezone.now())
