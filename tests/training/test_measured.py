"""What a checkpoint makes of the tokens of a try: against transformers, by the desk, and on the page."""

import asyncio
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from django.test import Client
from transformers import AutoModelForCausalLM

from gpu_worker import checkpoints
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.rollout import play_group
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import GroupJudged, Job, Place, Sampling, Segment
from judging.judge import verify
from tests import stories
from tests.tiny_model import build
from training.authoring.office import desk, errands, program
from training.models import (
    Agent,
    Checkpoint,
    Errand,
    Measurement,
    Run,
    Trajectory,
    TrajectoryRecord,
)
from training.review.tries import measured, measured_computing
from training.runs import jobs, lease, retention
from training.runs.recorder import Recorder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("measured") / "tiny-llama")


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_computing, "tell", lambda **told: None)


def segment(ids: list[int], drawn: set[int]) -> Segment:
    return Segment(tuple(ids), (0.0,) * len(ids), tuple(place in drawn for place in range(len(ids))))


def test_numbers_are_those_of_transformers(tiny: Path) -> None:
    ids, drawn = [(7 * place) % 300 + 3 for place in range(40)], {5, 6, 7, 20, 39}
    found = measured_computing.values_of(Decoder.load(tiny), segment(ids, drawn))
    with torch.no_grad():
        logits = AutoModelForCausalLM.from_pretrained(tiny)(torch.tensor([ids])).logits[0].double()
    expected = logits.log_softmax(-1)
    for place, token in enumerate(ids):
        logprob, entropy = found["logprobs"][place], found["entropies"][place]
        if place not in drawn:
            assert logprob is None and entropy is None
            continue
        row = expected[place - 1]
        assert logprob == pytest.approx(float(row[token]), abs=1e-4)
        assert entropy == pytest.approx(float(-(row.exp() * row).sum()), abs=1e-4)


def test_where_all_tokens_are_alike_the_entropy_is_the_logarithm_of_their_number(tiny: Path) -> None:
    decoder = Decoder.load(tiny)
    decoder.model.embed_tokens.weight.data.zero_()
    found = measured_computing.values_of(decoder, segment([4, 5, 6], {1, 2}))
    assert found["entropies"][1:] == pytest.approx([math.log(decoder.shape.vocab)] * 2, rel=1e-6)
    assert found["logprobs"][1:] == pytest.approx([-math.log(decoder.shape.vocab)] * 2, rel=1e-6)


def test_a_segment_in_which_nothing_was_drawn_has_no_numbers(tiny: Path) -> None:
    found = measured_computing.values_of(Decoder.load(tiny), segment([4, 5, 6], set()))
    assert found == {"logprobs": [None] * 3, "entropies": [None] * 3}


def test_what_the_sampler_noted_is_what_the_learner_finds(tiny: Path) -> None:
    engine, ask = EmbeddedEngine(tiny), [{"role": "user", "content": "Where is my order?"}]
    said = asyncio.run(engine.chat(ask, [], Sampling(max_tokens=24, seed=5)))
    ids, given = [*said.prompt_ids, *said.token_ids], len(said.prompt_ids)
    found = measured_computing.values_of(Decoder.load(tiny), segment(ids, set(range(given, len(ids)))))
    stored = [{"logprobs": [0.0] * given + list(said.logprobs)}]
    told = measured.summary(stored, [found])
    assert told["tokens"] == len(said.token_ids) and told["difference"] is not None
    assert told["difference"] < 1e-4 and told["ratio_p01"] == pytest.approx(1.0, abs=1e-4)


def test_a_summary_is_of_drawn_tokens_only() -> None:
    stored = [{"logprobs": [0.0, -1.0, -2.0, None]}, {"logprobs": [0.0]}]
    values: list[measured.Values] = [
        {"logprobs": [None, -1.5, -1.0, -3.0], "entropies": [None, 1.0, 3.0, 2.0]},
        {"logprobs": [None], "entropies": [None]},
    ]
    told = measured.summary(stored, values)
    assert (told["tokens"], told["entropy"], told["difference"]) == (3, 2.0, 1.0)
    assert told["ratio_p01"] == told["ratio_p50"] == told["ratio_p99"] == math.exp(-0.5)
    nothing = measured.summary([{"logprobs": [0.0]}], values[1:])
    assert (nothing["tokens"], nothing["entropy"], nothing["difference"]) == (0, None, None)


def test_importance_of_what_was_nearly_impossible_still_is_a_number() -> None:
    assert measured.ratio(-1.0, -5000.0) == math.exp(measured.LARGEST)
    assert measured.ratio(-5000.0, -1.0) == 0.0 and measured.ratio(None, -1.0) is None


@pytest.fixture
def sampled(agent: Agent, tiny: Path, tmp_path: Path) -> Trajectory:
    """A try that the engine really sampled, with the weights of step 1, which are far from the base's."""
    config = jobs.frozen_config(agent, {"lora_rank": 4, "samplers": 0, "reward": "checks"})
    config |= {"base_model": str(tiny), "max_turns": 2, "max_tokens": 12}
    run = Run.objects.create(
        owner=agent.owner,
        agent=agent,
        name="r",
        state=Run.State.QUEUED,
        steps=1,
        config=config,
        request_id="r",
    )
    job, environment = Job(run="r", **config), ENVIRONMENTS["order_desk"]
    file = checkpoints.write(tmp_path, 1, adapter(tiny, job).save, lambda file: {})
    Checkpoint.objects.create(
        run=run, step=1, directory=file.directory, sha256=file.sha256, bytes=file.bytes, kept=True
    )
    engine, task = EmbeddedEngine(tiny), environment.scenarios("train", 1, 0)[0]
    engine.use_adapter(Path(file.directory))
    group = asyncio.run(play_group(engine, environment, job, task, Place("train", 2, 0), tries=1))
    tries = tuple(replace(verify(task, one, environment), policy_step=1) for one in group.trajectories)
    claimed = lease.claim(run.pk)
    assert claimed is not None
    with Recorder(claimed) as record:
        record(GroupJudged(replace(group, trajectories=tries), "train", "train", tied=False))
    return Trajectory.objects.get(run=run)


def adapter(tiny: Path, job: Job) -> LoraTrainer:
    """As learning might have left it."""
    trainer, generator = LoraTrainer(tiny, job), torch.Generator().manual_seed(1)
    for name, parameter in trainer.adapter.items():
        if name.endswith("lora_B"):
            parameter.data.normal_(std=0.2, generator=generator)
    return trainer


def here(measurement: Measurement) -> list[measured.Values]:
    """In this process, since that of the errand has the installation's database."""
    row = Measurement.objects.get(pk=measurement.pk)
    decoder = measured_computing.decoder_of(row)
    return list(measured_computing.computed(decoder, row.trajectory.record.segments))


def do(measurement: Measurement, monkeypatch: pytest.MonkeyPatch, values: Any) -> Errand:
    """The errand, with a program that tells these values."""

    def told_by(module: str, *arguments: str) -> Iterator[dict[str, Any]]:
        assert (module, arguments) == (measured.PROGRAM, (str(measurement.pk),))
        yield {"what": "loading", "done": 0, "total": 0}
        yield {}
        yield {"what": "measuring", "done": 0, "total": 99}
        yield values if isinstance(values, dict) else {"result": values}

    monkeypatch.setattr(program, "told_by", told_by)
    desk.work(measurement.errand_id)
    return Errand.objects.get(pk=measurement.errand_id)


@pytest.mark.django_db(transaction=True)
def test_the_policy_that_sampled_a_try_agrees_and_another_does_not(
    sampled: Trajectory, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    trajectory, owner = sampled, sampled.run.owner
    own = measured.start(trajectory, owner=owner, step=measured.measured(trajectory).step)
    assert own.step == 1
    told = do(own, monkeypatch, here(own)).result
    assert told["tokens"] == trajectory.sampled_tokens and 0 < told["entropy"] < math.log(400)
    assert told["difference"] < 1e-4
    client.force_login(owner)
    address = f"/trajectories/{trajectory.pk}/?view=tokens"
    page = client.get(address).content.decode()
    assert "Measured with the weights that sampled this try" in page and "of another policy" not in page
    assert '<option value="entropy">' in page and "1.00000" in page
    strip = client.get(f"/trajectories/{trajectory.pk}/tokens/").json()
    drawn = [place for place, one in enumerate(trajectory.record.segments[0]["mask"]) if one]
    assert all(strip["ratios"][place] == pytest.approx(1.0, abs=1e-4) for place in drawn)
    assert [place for place, one in enumerate(strip["entropies"]) if one is not None] == drawn
    table = client.get(f"{address}&table=1&start={drawn[0]}").content.decode()
    assert ">Importance</th>" in table and ">1.00000</td>" in table
    kept = client.get(f"/trajectories/{trajectory.pk}/raw.json").json()["measured"]
    assert kept["step"] == 1 and len(kept["segments"]) == len(trajectory.record.segments)

    base = measured.start(trajectory, owner=owner, step=0)
    apart = do(base, monkeypatch, here(base)).result
    assert apart["difference"] > 0.1
    assert list(Measurement.objects.all()) == [base], "only the newest numbers are kept"
    page = client.get(address).content.decode()
    assert "Measured with the untrained weights" in page and "of another policy" in page


@pytest.fixture
def told(run: Run) -> Trajectory:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    return Trajectory.objects.filter(run=run).earliest("pk")


def values_like(trajectory: Trajectory) -> list[dict[str, Any]]:
    return [
        {"logprobs": part["logprobs"], "entropies": [0.5 if one else None for one in part["mask"]]}
        for part in TrajectoryRecord.objects.get(pk=trajectory.pk).segments
    ]


@pytest.mark.django_db(transaction=True)
def test_the_page_asks_for_it_once_and_shows_how_far_it_is(told: Trajectory, client: Client) -> None:
    client.force_login(told.run.owner)
    before = client.get(f"/trajectories/{told.pk}/?view=tokens").content.decode()
    assert "Measure entropy" in before and '<option value="entropy">' not in before
    address = f"/trajectories/{told.pk}/measurements/?view=tokens&segment=0&start=3&evil=%0d"
    for _ in range(2):
        answer = client.post(address, {"step": "0"})
        assert answer["Location"] == f"/trajectories/{told.pk}/?view=tokens&segment=0&start=3#measured"
    asked = Measurement.objects.get()
    page = client.get(f"/trajectories/{told.pk}/?view=tokens").content.decode()
    assert f"measured%3D{asked.errand_id}" in page and "Measure entropy</button>" not in page
    assert "Waiting for its turn" in page


@pytest.mark.django_db(transaction=True)
def test_only_the_owner_may_ask(told: Trajectory, other_user: Any, client: Client) -> None:
    address = f"/trajectories/{told.pk}/measurements/"
    assert client.post(address, {"step": "0"}).status_code == 302
    assert not Measurement.objects.exists(), "somebody who is not signed in asks for nothing"
    client.force_login(other_user)
    assert client.post(address, {"step": "0"}).status_code == 404
    client.force_login(told.run.owner)
    assert client.get(address).status_code == 405 and not Measurement.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_policy_that_is_gone_is_said_so_and_the_nearest_is_offered(
    told: Trajectory, client: Client
) -> None:
    Trajectory.objects.filter(pk=told.pk).update(policy_step=5)
    for step, kept in ((3, True), (5, False), (20, True)):
        Checkpoint.objects.create(
            run=told.run, step=step, kept=kept, directory=f"/nowhere/{step}", sha256="", bytes=0
        )
    told.refresh_from_db()
    offered = measured.measured(told)
    assert (offered.steps, offered.step, offered.kept) == ([0, 3, 20], 3, False)
    client.force_login(told.run.owner)
    page = client.get(f"/trajectories/{told.pk}/?view=tokens").content.decode()
    assert "those of step 5, are no longer kept" in page
    for step in ("5", "", "x", "9" * 12):
        answer = client.post(f"/trajectories/{told.pk}/measurements/", {"step": step}, follow=True)
        assert "choose another one" in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_what_goes_wrong_is_said_and_it_can_be_asked_again(
    told: Trajectory, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(told.run.owner)
    first = measured.start(told, owner=told.run.owner, step=0)
    assert do(first, monkeypatch, values_like(told)).state == Errand.State.DONE
    again = measured.start(told, owner=told.run.owner, step=0)
    errand = do(again, monkeypatch, {"failed": "There is no model directory <b>."})
    assert (errand.state, errand.error) == ("failed", "There is no model directory <b>.")
    page = client.get(f"/trajectories/{told.pk}/?view=tokens").content.decode()
    assert "There is no model directory &lt;b&gt;." in page
    assert "Measure again" in page and "Mean entropy" in page, "the numbers from before are still shown"
    third = measured.start(told, owner=told.run.owner, step=0)
    errands.cancel(third.errand)
    page = client.get(f"/trajectories/{told.pk}/?view=tokens").content.decode()
    assert "Cancelled" in page and "Mean entropy" in page


@pytest.mark.django_db(transaction=True)
def test_the_program_says_in_words_that_files_are_gone(told: Trajectory) -> None:
    Checkpoint.objects.create(run=told.run, step=1, kept=True, directory="/nowhere/1", sha256="", bytes=0)
    asked = measured.start(told, owner=told.run.owner, step=1)
    with pytest.raises(measured_computing.IN_WORDS, match="cannot be read"):
        measured_computing.decoder_of(Measurement.objects.get(pk=asked.pk))
    Checkpoint.objects.update(kept=False)
    desk.work(asked.errand_id)
    assert "no longer kept" in Errand.objects.get(pk=asked.errand_id).error


@pytest.mark.django_db(transaction=True)
def test_numbers_go_with_the_tokens_they_are_of(
    told: Trajectory, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(measured.start(told, owner=told.run.owner, step=0), monkeypatch, values_like(told))
    assert measured.values_of(told)
    retention.KINDS["tokens"].drop([told.pk])
    assert not Measurement.objects.exists()
    told = Trajectory.objects.get(pk=told.pk)
    with pytest.raises(measured.NotMeasured):
        measured.start(told, owner=told.run.owner, step=0)
    client.force_login(told.run.owner)
    assert "Measure entropy" not in client.get(f"/trajectories/{told.pk}/?view=tokens").content.decode()
