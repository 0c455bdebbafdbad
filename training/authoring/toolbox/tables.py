"""An agent's tables: read from uploads at the desk, given their tools, read again, removed and brought back.

How files are read is in `gpu_worker.tools.tables`; there it happens in a process of its own. The file a table
was read from is kept next to it, so that it can be read again in another way.
"""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from gpu_worker.tools.tables import TableError
from gpu_worker.tools.tables.apart import Stored, read_and_save
from gpu_worker.tools.tables.plans import (
    READS,
    WRITES,
    default_columns,
    parameters_of,
    standard_plans,
    tool_name,
)
from gpu_worker.tools.tables.sheet import as_json
from training.authoring.office.errands import Doing, Failed
from training.authoring.toolbox import uploads
from training.models import LIVING, Agent, TableFile, Tool
from training.runs.versions import table_path

LONGEST_NAME = 56
HINTS = ("encoding", "delimiter", "sheet", "types")
LISTS = ("columns", "by", "unique", "shown")
"""Settings of a table's tools that name columns."""


def read_upload(doing: Doing) -> dict[str, Any]:
    """Errand: read an uploaded file and give the agent its table and tools.

    arguments: upload and filename, as `uploads.keep` returns them; writes: whether the agent may change the
    table; hints, as in `gpu_worker.tools.tables.reading.read`.
    """
    told = doing.arguments
    path = uploads.path_of(told["upload"])
    try:
        table = add_table(
            doing.agent,
            path,
            told["filename"],
            upload=told["upload"],
            writes=bool(told.get("writes")),
            hints=told.get("hints") or {},
            watch=_watching(doing, told["filename"]),
        )
    except TableError as error:
        path.unlink(missing_ok=True)
        raise Failed(str(error)) from None
    path.unlink(missing_ok=True)
    return _result(table)


def read_again(doing: Doing) -> dict[str, Any]:
    """Errand: read a table's file again in the way somebody chose. arguments: table, hints."""
    table = doing.agent.tables.filter(LIVING, pk=doing.arguments["table"]).first()
    if table is None:
        raise Failed(_("This table was removed or replaced in the meantime."))
    hints = doing.arguments.get("hints") or {}
    try:
        return _result(reread(table, hints, watch=_watching(doing, table.filename)))
    except TableError as error:
        raise Failed(str(error)) from None


def add_table(
    agent: Agent,
    path: Path,
    filename: str,
    *,
    upload: str = "",
    writes: bool = False,
    hints: Mapping[str, Any],
    watch: Callable[[], None],
) -> TableFile:
    """Read a file, keep it, and give the agent a table and its tools, as suggestions. Raises TableError.

    An upload that is read twice, because who read it died, becomes one table.
    """
    known = _of_upload(agent, upload)
    if known is not None:
        return known
    name = free_name(agent, filename)
    stored = read_and_save(path, filename, name, settings.TABLES_DIR, hints=_known(hints), watch=watch)
    reading = {**stored.reading, "hints": _known(hints), "file": _kept(path), "upload": upload}
    with transaction.atomic():
        Agent.objects.select_for_update().get(pk=agent.pk)
        table = _table_row(agent, name, filename, stored, reading)
        _add_tools(table, stored, writes)
    return table


def reread(table: TableFile, hints: Mapping[str, Any], *, watch: Callable[[], None]) -> TableFile:
    """The table read again from its file, where `hints` say more than those before. Raises TableError.

    The new table takes the old one's place in the tools; their columns stay chosen if they all still exist.
    """
    before = table.reading
    now = _merged(before.get("hints", {}), _known(hints))
    path = _path_of(before.get("file", ""))
    if not path.exists():
        raise TableError(_("The file this table was read from was not kept. Upload it again."))
    stored = read_and_save(path, table.filename, table.name, settings.TABLES_DIR, hints=now, watch=watch)
    reading = {**stored.reading, "hints": now, "file": before["file"], "upload": before.get("upload", "")}
    with transaction.atomic():
        fresh = _table_row(table.agent, table.name, table.filename, stored, reading)
        TableFile.objects.filter(pk=table.pk).update(deleted_at=timezone.now())
        for tool in table.tools.filter(LIVING):
            _point(tool, fresh, stored)
    return fresh


def remove(table: TableFile) -> None:
    """Put a table and its tools in the bin together."""
    now = timezone.now()
    with transaction.atomic():
        table.tools.filter(LIVING).update(deleted_at=now)
        TableFile.objects.filter(LIVING, pk=table.pk).update(deleted_at=now)
    table.refresh_from_db()


def bring_back(table: TableFile) -> bool:
    """Take a table out of the bin with the tools that went there with it; False if its names are taken."""
    went_along = table.tools.filter(deleted_at=table.deleted_at)
    with transaction.atomic():
        agent = Agent.objects.select_for_update().get(pk=table.agent_id)
        tools = agent.tools.filter(LIVING, name__in=went_along.values_list("name", flat=True))
        if tools.exists() or agent.tables.filter(LIVING, name=table.name).exists():
            return False
        went_along.update(deleted_at=None)
        TableFile.objects.filter(pk=table.pk).update(deleted_at=None)
    table.refresh_from_db()
    return True


def needs(agent: Agent) -> list[str]:
    """What keeps the agent's tables from being used, in sentences."""
    missing = [table for table in agent.tables.filter(LIVING) if not table_path(table.sha256).exists()]
    return [
        _("The stored table of “%(file)s” is gone from the data directory: upload it again.")
        % {"file": table.filename}
        for table in missing
    ]


def free_name(agent: Agent, filename: str) -> str:
    """A table's name as its tools call it, which none of the agent's tables and tools has yet."""
    base = tool_name(filename.rpartition(".")[0] or filename)[:LONGEST_NAME]
    taken = set(agent.tables.filter(LIVING).values_list("name", flat=True))
    tools = set(agent.tools.filter(LIVING).values_list("name", flat=True))
    name, number = base, 1
    while name in taken or any(f"{does}_{name}" in tools for does in READS + WRITES):
        number += 1
        name = f"{base[: LONGEST_NAME - 5]}_{number}"
    return name


def _of_upload(agent: Agent, upload: str) -> TableFile | None:
    tables = agent.tables.filter(LIVING) if upload else ()
    return next((table for table in tables if table.reading.get("upload") == upload), None)


def _table_row(agent: Agent, name: str, filename: str, stored: Stored, reading: dict[str, Any]) -> TableFile:
    return TableFile.objects.create(
        agent=agent,
        name=name,
        filename=filename[-200:],
        format=reading["format"],
        sha256=stored.sha256,
        bytes=_path_of(reading["file"]).stat().st_size,
        rows=stored.rows,
        columns=as_json(stored.columns),
        reading=reading,
        problems=list(stored.problems),
    )


def _add_tools(table: TableFile, stored: Stored, writes: bool) -> None:
    shown = " ".join((table.filename.rpartition(".")[0] or table.filename).split())[:60] or table.name
    plans = standard_plans(shown, stored.columns, sha256=stored.sha256, writes=writes, called=table.name)
    last = table.agent.tools.order_by("-position").values_list("position", flat=True).first()
    first = 0 if last is None else last + 1
    Tool.objects.bulk_create(
        Tool(
            agent=table.agent,
            table=table,
            position=position,
            name=plan.spec.name,
            description=plan.spec.description,
            parameters=plan.spec.parameters,
            kind=Tool.Kind.TABLE,
            settings=plan.settings,
            suggested=True,
        )
        for position, plan in enumerate(plans, first)
    )


def _point(tool: Tool, table: TableFile, stored: Stored) -> None:
    """Make a tool look into another reading of its table."""
    names = {column.name for column in stored.columns}
    chosen = {key: tool.settings[key] for key in LISTS if key in tool.settings}
    if not all(names.issuperset(columns) for columns in chosen.values()):
        chosen = default_columns(tool.settings["does"], stored.columns)
    now = {"does": tool.settings["does"], "table": table.sha256, **chosen}
    Tool.objects.filter(pk=tool.pk).update(
        table=table, settings=now, parameters=parameters_of(now), edited_at=timezone.now()
    )


def _kept(path: Path) -> str:
    """Keep a copy of the file a table was read from, under the sum of its bytes, and return the sum."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    kept = _path_of(sha256)
    if not kept.exists():
        copy = kept.with_suffix(f".{path.name}")
        shutil.copyfile(path, copy)
        copy.replace(kept)
    return sha256


def _path_of(sha256: str) -> Path:
    return Path(settings.TABLES_DIR) / f"{sha256}.upload"


def _known(hints: Mapping[str, Any]) -> dict[str, Any]:
    return {key: hints[key] for key in HINTS if hints.get(key)}


def _merged(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Types are told column by column. A file cut or decoded in another way has other columns."""
    if any(key in now and now[key] != before.get(key) for key in ("encoding", "delimiter", "sheet")):
        return {**before, "types": {}, **now}
    types = {**before.get("types", {}), **now.get("types", {})}
    return {**before, **now, "types": types}


def _watching(doing: Doing, filename: str) -> Callable[[], None]:
    what = _("Reading %(file)s") % {"file": filename[-100:]}
    watch = partial(doing.progress, 0, 0, what)
    watch()
    return watch


def _result(table: TableFile) -> dict[str, Any]:
    tools = list(table.tools.filter(LIVING).values_list("pk", flat=True))
    return {"table": table.pk, "tools": tools, "rows": table.rows, "problems": len(table.problems)}
