"""`manage.py train`: a recorded run in the foreground, and its numbers as JSON."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.gpu_worker import small_run
from tests.tiny_model import build
from training.models import Run
from training.runs import worker

pytestmark = pytest.mark.django_db(transaction=True)

SMALL = {
    "groups_per_step": 2, "group_size": 3, "max_turns": 1, "max_tokens": 8, "max_context": 256,
    "eval_scenarios": 6, "eval_every": 0,
}  # fmt: skip


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(worker, "judge_for", lambda *_, **__: small_run.judge)
    return str(build(tmp_path / "tiny-llama"))


def train(*arguments: str) -> tuple[dict[str, object], str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("train", *arguments, "--json", stdout=out, stderr=err)
    return json.loads(out.getvalue().splitlines()[-1]), err.getvalue()


def test_a_run_ends_with_a_sentence_and_an_object(model: str) -> None:
    settings = [word for knob, value in SMALL.items() for word in ("--set", f"{knob}={value}")]
    arguments = ("yes-no-maybe", "--steps", "2", "--seed", "5", "--base-model", model, *settings)
    told, sentence = train(*arguments)
    run = Run.objects.get(name="yes-no-maybe-1")
    assert (run.state, run.config["seed"], run.config["group_size"]) == ("done", 5, 3)
    assert told["run"] == run.name and told["steps"] == 2
    assert set(told) == {
        "run", "baseline", "trained", "difference", "seconds", "steps", "trajectories", "peak_rss_mb",
        "weights_sha256",
    }  # fmt: skip
    assert told["baseline"]["n"] == told["trained"]["n"] == 6  # type: ignore[index]
    assert 50 < told["peak_rss_mb"] < 8000  # type: ignore[operator]
    assert "on 6 unseen scenarios (95 % CI" in sentence

    again, _ = train(*arguments)
    assert again["run"] == "yes-no-maybe-2"
    assert again["weights_sha256"] == told["weights_sha256"]


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(CommandError, match="no environment chess; there are order-desk, yes-no-maybe"):
        call_command("train", "chess")


def test_a_bad_value_is_refused_before_anything_starts() -> None:
    with pytest.raises(CommandError, match="steps must be a whole number from 1"):
        call_command("train", "order-desk", "--steps", "0")
    with pytest.raises(CommandError, match="give KNOB=VALUE"):
        call_command("train", "order-desk", "--set", "group_size")
    assert not Run.objects.exists()


def test_a_failed_run_says_why(tmp_path: Path, model: str) -> None:
    (Path(model) / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(CommandError, match="not a readable safetensors file"):
        call_command("train", "order-desk", "--base-model", model)
    assert Run.objects.get().state == "failed"
