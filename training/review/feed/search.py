"""Which tries may say something: an index of three-character pieces, filled behind the recorder.

SQLite has it as an FTS5 table of trigrams without texts or places, Postgres as arrays under a GIN index;
both come out of the box and know every script. What the index names is only likely: the transcripts are
read before anything is shown. Training never waits for the index; `catch_up` is called by the desk every
few seconds and, for a moment, by a search.
"""

import time
import zlib
from collections.abc import Mapping, Sequence

from django.db import connection, transaction

from training.models import Trajectory, TrajectoryRecord
from training.review.feed.wanted import GRAM, Wanted, text_of

READ = 64
"""Tries whose transcripts are read together, while others may write."""
SLICE = 16
"""Tries of one transaction: about a millisecond in which nobody else can write."""
LOOK_BACK = 2000
"""Ids below the newest indexed one that are looked at again: another writer may have finished later."""
MOST_BEHIND = 10_000
NEWEST = 2**62
"""Above every id."""


def candidates(
    asked: Wanted, *, after: int | None, before: int | None, rising: bool, limit: int
) -> list[int]:
    """Ids of tries between two ids that have all pieces of the query, in order."""
    sql, match = _SQL[connection.vendor]["find"], _matched(asked.grams)
    order = "ASC" if rising else "DESC"
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} ORDER BY 1 {order} LIMIT %s", [match, after or 0, before or NEWEST, limit])
        return [row[0] for row in cursor.fetchall()]


def behind(runs: Sequence[int]) -> int:
    """How many tries of some runs are not in the index yet; MOST_BEHIND stands for as many or more."""
    newer = Trajectory.objects.filter(run_id__in=runs, pk__gt=indexed_to()).order_by()
    return newer[:MOST_BEHIND].count()


def indexed_to() -> int:
    """The newest try in the index, by id."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL[connection.vendor]["newest"])
        row = cursor.fetchone()
    return int(row[0] or 0)


def catch_up(seconds: float) -> bool:
    """Index what is new for at most about so long. Whether nothing is left to do."""
    until = time.monotonic() + seconds
    while _index_some():
        if time.monotonic() > until:
            return False
    return True


def forget(trajectory_id: int, text: str) -> None:
    """Take a try out of the index; `text` is what it was indexed with."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT 1 FROM training_said_docsize WHERE id = %s", [trajectory_id])
            if cursor.fetchone():
                command = "INSERT INTO training_said(training_said, rowid, text) VALUES ('delete', %s, %s)"
                cursor.execute(command, [trajectory_id, text])
        else:
            cursor.execute("DELETE FROM training_said WHERE id = %s", [trajectory_id])


def _index_some() -> int:
    """Read the next few tries, then index them in short transactions; how many there were."""
    ids = _missing(indexed_to() - LOOK_BACK, NEWEST, READ)
    records = TrajectoryRecord.objects.filter(pk__in=ids).values_list("pk", "messages")
    texts = dict.fromkeys(ids, "") | {pk: text_of(messages) for pk, messages in records}
    for at in range(0, len(ids), SLICE):
        _add(ids[at : at + SLICE], texts)
    return len(ids)


def _add(ids: Sequence[int], texts: Mapping[int, str]) -> None:
    """Index a slice, but for what somebody else has indexed or taken away since it was read."""
    with transaction.atomic(), connection.cursor() as cursor:
        still = _missing(ids[0] - 1, ids[-1], ids[-1] - ids[0] + 1)
        told = [(pk, _indexed(texts[pk])) for pk in still if pk in texts]
        cursor.executemany(_SQL[connection.vendor]["add"], told)


def _missing(after: int, to: int, limit: int) -> list[int]:
    """Ids of tries that are not in the index, above `after` and up to `to`, in order."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL[connection.vendor]["missing"], [after, to, limit])
        return [row[0] for row in cursor.fetchall()]


def _matched(grams: Sequence[str]) -> str | list[int]:
    if connection.vendor == "sqlite":
        return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in grams)
    return _hashes(grams)


def _indexed(text: str) -> str | list[int]:
    if connection.vendor == "sqlite":
        return text
    lower = text.lower()
    return _hashes({lower[at : at + GRAM] for at in range(len(lower) - GRAM + 1)})


def _hashes(grams: Sequence[str] | set[str]) -> list[int]:
    """Signed 32-bit numbers, as Postgres keeps them."""
    return sorted({zlib.crc32(gram.encode()) - 2**31 for gram in grams})


_MISSING = """
    SELECT id FROM training_trajectory AS try
    WHERE id > %s AND id <= %s AND NOT EXISTS (SELECT 1 FROM {known} AS known WHERE known.id = try.id)
    ORDER BY id LIMIT %s
"""
_SQL = {
    "sqlite": {
        "find": "SELECT rowid FROM training_said WHERE training_said MATCH %s AND rowid > %s AND rowid < %s",
        "newest": "SELECT max(id) FROM training_said_docsize",
        "missing": _MISSING.format(known="training_said_docsize"),
        "add": "INSERT INTO training_said(rowid, text) VALUES (%s, %s)",
    },
    "postgresql": {
        "find": "SELECT id FROM training_said WHERE grams @> %s::int[] AND id > %s AND id < %s",
        "newest": "SELECT max(id) FROM training_said",
        "missing": _MISSING.format(known="training_said"),
        "add": "INSERT INTO training_said(id, grams) VALUES (%s, %s::int[]) ON CONFLICT DO NOTHING",
    },
}
