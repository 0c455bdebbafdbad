"""Tables people upload: read, checked, stored, and made into tools.

Reading them needs large libraries and stays in `reading`, which the web process and samplers never import.
"""

from gpu_worker.tools.tables.calls import table_tool
from gpu_worker.tools.tables.live import Found, LiveTable
from gpu_worker.tools.tables.plans import standard_plans
from gpu_worker.tools.tables.sheet import Column, Sheet, TableError, columns_of
from gpu_worker.tools.tables.storage import StoredTable, open_table, save

__all__ = [
    "Column",
    "Found",
    "LiveTable",
    "Sheet",
    "StoredTable",
    "TableError",
    "columns_of",
    "open_table",
    "save",
    "standard_plans",
    "table_tool",
]
