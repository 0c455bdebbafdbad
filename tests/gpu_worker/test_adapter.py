"""A LoRA adapter merged into the sampling weights computes what PEFT computes, or is refused whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from gpu_worker.engines.embedded.adapter import Swappable
from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.engines.embedded.directory import ModelError

LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
IDS = torch.arange(40)[None]


def peft_model(model: Path, **config: Any) -> Any:
    """The tiny model in transformers with a PEFT adapter of random numbers."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    peft = get_peft_model(base, LoraConfig(**{"target_modules": LINEARS, **config}))
    for name, parameter in peft.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return peft


@pytest.fixture(scope="module")
def adapter(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good adapter; copy before spoiling it."""
    directory = tmp_path_factory.mktemp("adapter")
    peft_model(tiny_model, r=4, lora_alpha=8).save_pretrained(directory)
    return directory


def logits(decoder: Decoder) -> torch.Tensor:
    with torch.no_grad():
        return decoder.logits(decoder(IDS, IDS, causal))


@pytest.mark.parametrize(
    "config",
    [
        {"r": 4, "lora_alpha": 8},
        {"r": 16, "lora_alpha": 3, "use_rslora": True},
        {"r": 1, "lora_alpha": 2.5, "target_modules": ["q_proj", "down_proj"]},
    ],
)
def test_merged_weights_compute_what_peft_computes(
    tiny_model: Path, tmp_path: Path, config: dict[str, Any]
) -> None:
    peft = peft_model(tiny_model, **config)
    peft.save_pretrained(tmp_path)
    decoder = Decoder.load(tiny_model)
    before = logits(decoder)
    Swappable(decoder).use(tmp_path)
    with torch.no_grad():
        expected = peft(IDS).logits
    assert (expected - before).abs().max() > 0.1
    torch.testing.assert_close(logits(decoder), expected, atol=1e-4, rtol=0)


def test_no_adapter_restores_the_base_exactly(tiny_model: Path, adapter: Path) -> None:
    decoder = Decoder.load(tiny_model)
    base = {name: parameter.clone() for name, parameter in decoder.named_parameters()}
    weights = Swappable(decoder)
    for directory in (adapter, adapter, None):
        weights.use(directory)
    assert all(torch.equal(parameter, base[name]) for name, parameter in decoder.named_parameters())


def edit_config(directory: Path, **changes: Any) -> None:
    path = directory / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_tensors(directory: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    path = directory / "adapter_model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def first(tensors: dict[str, torch.Tensor]) -> str:
    return sorted(tensors)[0]


def rename_first(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.layers.9.lora_A.weight"] = tensors.pop(first(tensors))


def no_matrix(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.embed_tokens.weight"] = torch.zeros(2)


def wrong_shape(tensors: dict[str, torch.Tensor]) -> None:
    tensors[first(tensors)] = torch.zeros(4, 5)


def wrong_rank(tensors: dict[str, torch.Tensor]) -> None:
    tensors[first(tensors)] = torch.zeros(3, tensors[first(tensors)].shape[1])


def not_finite(tensors: dict[str, torch.Tensor]) -> None:
    tensors[first(tensors)][0, 0] = float("nan")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda d: edit_tensors(d, rename_first), "does not fit the model"),
        (lambda d: edit_tensors(d, no_matrix), "no LoRA matrix"),
        (lambda d: edit_tensors(d, wrong_shape), "wrong shape"),
        (lambda d: edit_tensors(d, wrong_rank), "unusable numbers"),
        (lambda d: edit_tensors(d, not_finite), "unusable numbers"),
        (lambda d: (d / "adapter_model.safetensors").write_bytes(b"\x00" * 40), "not a readable safetensors"),
        (lambda d: (d / "adapter_model.safetensors").unlink(), "missing"),
        (lambda d: (d / "adapter_config.json").unlink(), "no adapter_config.json"),
        (lambda d: (d / "adapter_config.json").write_text("[]"), "JSON object"),
        (lambda d: edit_config(d, lora_alpha=None), "no lora_alpha"),
        (lambda d: edit_config(d, use_dora=True), "use_dora"),
        (lambda d: edit_config(d, modules_to_save=["lm_head"]), "modules_to_save"),
        (lambda d: edit_config(d, peft_type="IA3"), "peft_type"),
        (lambda d: edit_config(d, alpha_pattern={"q_proj": 3}), "alpha_pattern"),
    ],
)
def test_a_broken_adapter_is_refused_and_the_old_one_stays(
    tiny_model: Path, adapter: Path, tmp_path: Path, spoil: Callable[[Path], object], says: str
) -> None:
    for file in adapter.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    decoder = Decoder.load(tiny_model)
    weights = Swappable(decoder)
    weights.use(adapter)
    before = logits(decoder)
    spoil(tmp_path)
    with pytest.raises(ModelError, match=says):
        weights.use(tmp_path)
    assert torch.equal(logits(decoder), before)


def test_a_missing_directory_is_named(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no adapter directory"):
        Swappable(Decoder.load(tiny_model)).use(tmp_path / "nowhere")
