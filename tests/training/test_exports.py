"""Exports hold what is stored, and ART reads its own format back."""

import io
import json
import tracemalloc
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse

from tests import stories
from tests.training.test_tries_list import expected, fill
from training.models import Group, Run, Score, Trajectory, TrajectoryTag
from training.review.feed import exports
from training.review.feed.filters import Filters

pytestmark = pytest.mark.django_db(transaction=True)


def file(kind: str, run: Run, **asked: Any) -> bytes:
    return b"".join(exports.chunks(kind, Filters(run=run.pk, **asked), [run]))


@pytest.fixture
def told(run: Run) -> Run:
    return stories.tell(run, stories.training(2, 2, 5), end="done")


def as_art_reads(content: bytes) -> dict[int, list[dict[str, Any]]]:
    """What `read_trajectory_groups_parquet` of openpipe-art 0.5.18 makes of a file, as plain data."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in pq.read_table(io.BytesIO(content)).to_pylist():
        messages = []
        for message in row["messages"] or []:
            result = {"role": message["role"], "content": message["content"]}
            if message.get("tool_calls"):
                result["tool_calls"] = json.loads(message["tool_calls"])
            if message.get("tool_call_id"):
                result["tool_call_id"] = message["tool_call_id"]
            messages.append(result)
        read = {
            "messages_and_choices": messages,
            "reward": row["reward"],
            "metrics": json.loads(row["metrics"]) if row.get("metrics") else {},
            "metadata": json.loads(row["metadata"]) if row.get("metadata") else {},
            "logs": row.get("logs") or [],
        }
        groups.setdefault(row["group_index"], []).append(read)
    return groups


def test_a_line_holds_everything_that_is_stored_of_a_try(told: Run) -> None:
    one = Trajectory.objects.filter(run=told, label="train").select_related("group", "record").first()
    assert one is not None
    TrajectoryTag.objects.create(trajectory=one, run=told, name="odd")
    Score.objects.create(trajectory=one, source="human", value=0.25, explanation="No.", use="reward")
    lines = [json.loads(line) for line in file("jsonl", told).splitlines()]
    assert [line["id"] for line in lines] == expected(told, Filters(order="oldest"))
    (line,) = (line for line in lines if line["id"] == one.pk)
    assert line["messages"] == one.record.messages and line["segments"] == one.record.segments
    assert (line["run"], line["group"], line["scenario"]) == (told.name, one.group.index, one.scenario_key)
    assert (line["tags"], line["tools"]) == (["odd"], one.group.tools)
    assert [score["source"] for score in line["scores"]] == ["ruler", "checks", "human"]
    assert line["scores"][2]["use"] == "reward"


def test_parquet_has_the_same_rows(told: Run) -> None:
    lines = [json.loads(line) for line in file("jsonl", told).splitlines()]
    rows = pq.read_table(io.BytesIO(file("parquet", told))).to_pylist()
    for row in rows:
        row.update({name: json.loads(row[name]) for name in exports.JSON_COLUMNS})
    assert rows == lines


def test_art_reads_its_format_back_group_by_group(told: Run) -> None:
    content = file("art", told)
    assert pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0).compression == "ZSTD"
    groups = as_art_reads(content)
    stored = list(Group.objects.filter(run=told).order_by("pk"))
    assert list(groups) == list(range(len(stored)))
    for group, read in zip(stored, groups.values(), strict=True):
        tries = list(group.trajectories.select_related("record").order_by("pk"))
        assert [one["reward"] for one in read] == [one.reward for one in tries]
        for back, one in zip(read, tries, strict=True):
            assert back["messages_and_choices"] == [
                {key: message.get(key) for key in ("role", "content")}
                | {key: message[key] for key in ("tool_calls", "tool_call_id") if message.get(key)}
                for message in one.record.messages
            ]
            assert back["metadata"]["scenario"] == one.scenario_key
            assert back["metrics"]["ruler"] == one.scores.get(source="ruler").value
            assert back["logs"] == ([one.note] if one.note else [])
    table = pq.read_table(io.BytesIO(content))
    assert table.schema.names == [
        *("group_index", "group_metadata", "group_metrics", "group_logs", "reward"),
        *("metrics", "metadata", "tools", "logs", "messages"),
    ]
    assert json.loads(table.to_pylist()[0]["tools"])[0]["function"]["name"] == "find_order"


def test_an_export_holds_what_passes_the_filters_however_many_pages(run: Run) -> None:
    fill(run, groups=60)
    for asked in ({}, {"success": False}, {"label": "train", "score_from": 0.5}, {"tool": "find_order"}):
        lines = [json.loads(line)["id"] for line in file("jsonl", run, **asked).splitlines()]
        assert lines == expected(run, Filters(order="oldest", **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", list(exports.KINDS))
def test_an_export_of_nothing_is_an_empty_file_that_opens(run: Run, kind: str) -> None:
    content = file(kind, run, scenario="nobody has it")
    assert content == b"" if kind == "jsonl" else pq.read_table(io.BytesIO(content)).num_rows == 0


def test_memory_does_not_grow_with_the_file(run: Run) -> None:
    fill(run, groups=20)

    def peak() -> int:
        tracemalloc.start()
        for _piece in exports.chunks("jsonl", Filters(run=run.pk), [run]):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak()
    small = peak()
    fill(Run.objects.create(**{**_columns(run), "name": "b", "request_id": "b"}), groups=1)
    for seed in range(3):
        _more(run, seed)
    assert peak() < 2 * small + 300_000


def _columns(run: Run) -> dict[str, Any]:
    return {"owner": run.owner, "agent": run.agent, "steps": 1}


def _more(run: Run, seed: int) -> None:
    first = Group.objects.filter(run=run).latest("pk")
    made = Group.objects.bulk_create(
        Group(
            run=run,
            label="more",
            split="train",
            step=100 + seed,
            index=number,
            scenario_key="s",
            tries=4,
            successes=0,
            mean_reward=first.mean_reward,
            best_reward=1,
        )
        for number in range(100)
    )
    Trajectory.objects.bulk_create(
        Trajectory(
            group=group,
            run=run,
            label="more",
            step=group.step,
            scenario_key="s",
            index=index,
            ended="answered",
            turns=1,
            sampled_tokens=1,
            reward=0.5,
            success=True,
        )
        for group in made
        for index in range(4)
    )


async def test_the_file_is_streamed_under_a_name_that_says_run_and_filter(
    told: Run, async_client: AsyncClient, user: User, other_user: User
) -> None:
    await async_client.aforce_login(user)
    address = reverse("export_tries", args=["jsonl"])
    answer = await async_client.get(address, {"run": told.pk, "success": "no"})
    assert answer.streaming
    lines = b"".join([piece async for piece in answer.streaming_content]).splitlines()
    assert lines and not any(json.loads(line)["success"] for line in lines)
    assert answer["Content-Disposition"] == 'attachment; filename="tries-order-desk-1-success-no.jsonl"'
    assert (await async_client.get(reverse("export_tries", args=["zip"]))).status_code == 404
    await async_client.aforce_login(other_user)
    assert (await async_client.get(address, {"run": told.pk})).status_code == 404
