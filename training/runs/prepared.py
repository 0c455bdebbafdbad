"""A query whose SQL Django writes once, for what is asked many times a second.

Writing it takes Django several times as long as the database needs to answer.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


@dataclass
class Prepared(Generic[Row]):
    """`rows` filtered by any values; a call gives others, in the order in which they stand in the SQL."""

    rows: QuerySet[Row]

    @cached_property
    def sql(self) -> str:
        return self.rows.query.sql_with_params()[0]

    def __call__(self, *values: object) -> list[Row]:
        return list(self.rows.model._default_manager.raw(self.sql, values))
