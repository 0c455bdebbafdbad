"""Tries as files, streamed: JSON lines, Parquet, and the Parquet that ART's model.log writes.

A file holds all tries that pass the filters, in the order of their groups, and is written as it is sent, so
that its size does not matter. ART's format (openpipe-art 0.5.18, utils/trajectory_logging.py) has no place
for token ids, log-probabilities, how a try ended, nor for the words of judges: those are in the others.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.db import connection
from django.utils.functional import Promise
from django.utils.text import slugify
from django.utils.translation import gettext_lazy

from training.models import Group, Run, Score, Trajectory, TrajectoryRecord, TrajectoryTag
from training.review.feed import paging, queries
from training.review.feed.conditions import conditions
from training.review.feed.filters import Filters

AT_ONCE = 100
"""Tries that are in memory at a time."""
SUFFIXES = {"jsonl": "jsonl", "parquet": "parquet", "art": "art.parquet"}
TYPES = {
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "art": "application/vnd.apache.parquet",
}
KINDS: dict[str, tuple[str, Promise]] = {
    "jsonl": ("JSONL", gettext_lazy("Everything that is stored, a line for each try.")),
    "parquet": ("Parquet", gettext_lazy("The same in columns, compressed; transcripts and tokens are JSON.")),
    "art": (
        "ART",
        gettext_lazy("As ART’s own log has them; it has no place for tokens, log-probabilities and reasons."),
    ),
}

Content = dict[str, Any]
"""A try with everything that is stored of it."""


def name_of(filters: Filters, run: Run | None, kind: str) -> str:
    """What a file is called: run and filters, in letters that every disk takes."""
    asked = slugify(filters.query(run=None, order="newest").replace("=", "-").replace("&", " "))[:80]
    parts = ["tries", slugify(run.name) if run else "all-runs", asked]
    return "-".join(filter(None, parts)) + f".{SUFFIXES[kind]}"


def chunks(kind: str, filters: Filters, runs: Sequence[Run]) -> Iterator[bytes]:
    """A file, piece by piece."""
    return WRITERS[kind](_batches(filters, runs))


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each piece made in another thread, so that the server goes on answering meanwhile."""

    def made() -> bytes | None:
        try:
            return next(pieces, None)
        finally:
            connection.close()  # the next piece may be made in a thread that has one of its own

    while (piece := await asyncio.to_thread(made)) is not None:
        yield piece


def _batches(filters: Filters, runs: Sequence[Run]) -> Iterator[list[Content]]:
    """All tries that pass, oldest first, so that groups stay together."""
    names = {run.pk: run.name for run in runs}
    scope = queries.scope_of(filters, runs)
    passing = conditions(filters, queries.tagged(filters, scope))
    order, asked = paging.Order("", falling=False), queries.asked_of(filters)
    at: paging.Place | None = None
    waiting: list[int] = []
    while True:
        found = paging.page(scope, order, passing, asked=asked, at=at)
        waiting += found.ids
        at = found.rest or found.last
        over = not found.after and found.rest is None
        if waiting and (over or len(waiting) >= AT_ONCE):
            yield _contents(waiting, names)
            waiting = []
        if over:
            return


def _contents(ids: Sequence[int], names: dict[int, str]) -> list[Content]:
    tries = {one.pk: one for one in Trajectory.objects.filter(pk__in=ids)}
    groups = Group.objects.in_bulk({one.group_id for one in tries.values()})
    records = TrajectoryRecord.objects.in_bulk(ids)
    scores: dict[int, list[Content]] = {pk: [] for pk in ids}
    for score in Score.objects.filter(trajectory__in=ids).order_by("id"):
        scores[score.trajectory_id].append(_score(score))
    tags: dict[int, list[str]] = {pk: [] for pk in ids}
    for pk, tag in TrajectoryTag.objects.filter(trajectory__in=ids).values_list("trajectory", "name"):
        tags[pk].append(tag)
    return [
        _content(tries[pk], groups[tries[pk].group_id], records.get(pk), scores[pk], tags[pk], names)
        for pk in ids
        if pk in tries
    ]


def _score(score: Score) -> Content:
    told = {"source": score.source, "value": score.value, "explanation": score.explanation}
    if score.source != "human":
        return told
    return {**told, "use": score.use, "withdrawn": score.withdrawn_at is not None}


def _content(
    one: Trajectory,
    group: Group,
    record: TrajectoryRecord | None,
    scores: list[Content],
    tags: list[str],
    names: dict[int, str],
) -> Content:
    return {
        "id": one.pk,
        "run": names[one.run_id],
        "label": one.label,
        "split": group.split,
        "step": one.step,
        "group": group.index,
        "group_id": group.pk,
        "scenario": one.scenario_key,
        "index": one.index,
        "ended": one.ended,
        "note": one.note,
        "turns": one.turns,
        "sampled_tokens": one.sampled_tokens,
        "reward": one.reward,
        "human": one.human,
        "success": one.success,
        "advantage": one.advantage,
        "policy_step": one.policy_step,
        "judge": group.judge,
        "tags": tags,
        "scores": scores,
        "tools": group.tools,
        "messages": record.messages if record else [],
        "segments": record.segments if record else [],
    }


def _jsonl(batches: Iterator[list[Content]]) -> Iterator[bytes]:
    for batch in batches:
        yield b"".join(_json(content).encode() + b"\n" for content in batch)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


JSON_COLUMNS = ("scores", "tools", "messages", "segments")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        *((name, pa.string()) for name in ("run", "label", "split")),
        *((name, pa.int64()) for name in ("step", "group", "group_id")),
        ("scenario", pa.string()),
        ("index", pa.int64()),
        *((name, pa.string()) for name in ("ended", "note")),
        *((name, pa.int64()) for name in ("turns", "sampled_tokens")),
        *((name, pa.float64()) for name in ("reward", "human")),
        ("success", pa.bool_()),
        ("advantage", pa.float64()),
        ("policy_step", pa.int64()),
        ("judge", pa.string()),
        ("tags", pa.list_(pa.string())),
        *((name, pa.string()) for name in JSON_COLUMNS),
    ]
)
ART_MESSAGE = pa.struct(
    [(name, pa.string()) for name in ("role", "content", "tool_calls", "tool_call_id")]
    + [("trainable", pa.bool_())]
)
ART_SCHEMA = pa.schema(
    [
        ("group_index", pa.int64()),
        *((name, pa.string()) for name in ("group_metadata", "group_metrics")),
        ("group_logs", pa.list_(pa.string())),
        ("reward", pa.float64()),
        *((name, pa.string()) for name in ("metrics", "metadata", "tools")),
        ("logs", pa.list_(pa.string())),
        ("messages", pa.list_(ART_MESSAGE)),
    ]
)


def _parquet(batches: Iterator[list[Content]]) -> Iterator[bytes]:
    def row(content: Content) -> Content:
        return content | {name: _json(content[name]) for name in JSON_COLUMNS}

    return _table(SCHEMA, row, batches)


def _art(batches: Iterator[list[Content]]) -> Iterator[bytes]:
    places: dict[int, int] = {}

    def row(content: Content) -> Content:
        return art_row(content, places.setdefault(content["group_id"], len(places)))

    return _table(ART_SCHEMA, row, batches)


def art_row(content: Content, group_index: int) -> Content:
    """A try as `write_trajectory_groups_parquet` has it; reward is the run's, as ART knows no other."""
    metadata = {name: content[name] for name in ("run", "label", "step", "scenario", "index", "policy_step")}
    metrics = {score["source"]: score["value"] for score in content["scores"] if not score.get("withdrawn")}
    metrics |= {"success": float(content["success"]), "turns": content["turns"]}
    return {
        "group_index": group_index,
        "group_metadata": _json({"run": content["run"], "step": content["step"], "group": content["group"]}),
        "group_metrics": None,
        "group_logs": None,
        "reward": content["reward"],
        "metrics": _json(metrics),
        "metadata": _json({name: value for name, value in metadata.items() if value is not None}),
        "tools": _json([_art_tool(tool) for tool in content["tools"]]) if content["tools"] else None,
        "logs": [content["note"]] if content["note"] else None,
        "messages": [_art_message(message) for message in content["messages"]],
    }


def _art_tool(tool: Content) -> Content:
    return {"type": "function", "function": tool}


def _art_message(message: Content) -> Content:
    said, calls = message.get("content"), message.get("tool_calls")
    return {
        "role": message.get("role"),
        "content": said if said is None or isinstance(said, str) else _json(said),
        "tool_calls": _json(calls) if calls else None,
        "tool_call_id": message.get("tool_call_id"),
        "trainable": message.get("role") == "assistant",
    }


class _Sink:
    """What a Parquet writer wrote since it was last asked."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._at = 0

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def _table(
    schema: pa.Schema, row: Callable[[Content], Content], batches: Iterator[list[Content]]
) -> Iterator[bytes]:
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_pylist([row(content) for content in batch], schema=schema))
            yield sink.take()
    yield sink.take()


WRITERS: dict[str, Callable[[Iterator[list[Content]]], Iterator[bytes]]] = {
    "jsonl": _jsonl,
    "parquet": _parquet,
    "art": _art,
}
