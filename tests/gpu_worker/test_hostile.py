"""Ids never drift: every prompt is what was seen with what is new, or rendered afresh, whatever is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.directory import EMBEDDED
from tests.gpu_worker.hostile import played


@pytest.mark.parametrize("transcripts", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_no_id_drifts_over_many_transcripts_of_the_shipped_model(transcripts: int) -> None:
    outcome = played(Chat(EMBEDDED), transcripts)
    assert outcome.drifts == []
    assert outcome.prompts > 3 * transcripts and outcome.extended > outcome.prompts / 2


@pytest.mark.parametrize("seed", [1, 2])
def test_no_id_drifts_in_a_form_that_writes_tools_and_calls_otherwise(tiny_model: Path, seed: int) -> None:
    outcome = played(Chat(tiny_model), 75, seed)
    assert outcome.drifts == [] and outcome.extended > 50
