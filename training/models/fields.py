"""A column type the framework does not have."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class OrderedJSONField(models.JSONField):
    """JSON (an object or a list) whose keys stay in the order they were written, on Postgres too.

    Postgres sorts the keys of jsonb, Django's type. The order of a tool's parameters is part of the prompt,
    so the endpoint would show the model another prompt than the one it was trained on.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        if connection.vendor == "postgresql" and isinstance(value, list | dict):
            return json.dumps(value, cls=self.encoder)
        return super().get_db_prep_value(value, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        """psycopg has read the type json already."""
        return super().from_db_value(value, expression, connection) if isinstance(value, str) else value
