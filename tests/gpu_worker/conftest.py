"""Models that the engine room's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_model import build


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Llama directory with tokenizer and ChatML tool template. Do not write into it."""
    return build(tmp_path_factory.mktemp("models") / "tiny-llama")
