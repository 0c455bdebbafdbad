"""Models that always say the same: one sentence and a tool call, or one word without end.

Their network is a chain: each token is followed by one other, whatever came before, so a random model's
directory becomes one that speaks. What models do that really read is left to other tests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer

from tests.tiny_model import build

SENTENCE = "One moment, please."
WORD = " and"
ARGUMENTS = {"id": "7"}
CALL = '\n{"name": "find_order", "arguments": {"id": "7"}}\n'


def build_parrot(directory: Path) -> Path:
    """Write a model that answers everything with SENTENCE and a call of find_order(id="7")."""
    build(directory, tied=False)
    _chain(directory, (SENTENCE, "<tool_call>", CALL, "</tool_call>", "<|im_end|>"))
    return directory


def build_chatterbox(directory: Path) -> Path:
    """Write a model that says WORD until its context is full."""
    build(directory, tied=False)
    _chain(directory, (WORD, WORD))
    return directory


def _chain(directory: Path, said: Sequence[str]) -> None:
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.add_tokens(
        [AddedToken(text, special=False, normalized=False) for text in (SENTENCE, CALL, WORD)]
    )
    tokenizer.save(str(directory / "tokenizer.json"))
    ids = tokenizer.get_vocab()
    start = tokenizer.encode("<|im_start|>assistant\n").ids[-1]
    _write_chain(directory, [start, *(ids[text] for text in said)], len(ids))


def _write_chain(directory: Path, chain: list[int], vocabulary: int) -> None:
    config = json.loads((directory / "config.json").read_text())
    config["vocab_size"] = vocabulary
    (directory / "config.json").write_text(json.dumps(config))
    weights = load_file(directory / "model.safetensors")
    silent = {name: torch.zeros_like(tensor) for name, tensor in weights.items() if "norm" not in name}
    rows = vocabulary, config["hidden_size"]
    embedding, head = torch.zeros(rows), torch.zeros(rows)
    for place, (token, following) in enumerate(zip(chain, chain[1:], strict=False)):
        embedding[token, place] = 1.0
        head[following, place] = 100.0
    norms = {name: torch.ones_like(tensor) for name, tensor in weights.items() if "norm" in name}
    chained = {"model.embed_tokens.weight": embedding, "lm_head.weight": head}
    save_file({**silent, **norms, **chained}, directory / "model.safetensors", metadata={"format": "pt"})
