"""The decoder computes what transformers computes, and says clearly what it cannot use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.engines.embedded.directory import ModelError, locate
from tests.tiny_model import Family, build

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


def logits_here(directory: Path, ids: torch.Tensor) -> torch.Tensor:
    decoder = Decoder.load(directory)
    positions = torch.arange(ids.shape[1]).expand_as(ids)
    return decoder.logits(decoder(ids, positions, causal))


def logits_of_transformers(directory: Path, ids: torch.Tensor) -> torch.Tensor:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    with torch.no_grad():
        return model(ids).logits


def assert_same_logits(directory: Path) -> None:
    ids = torch.randint(0, 340, (3, 57), generator=torch.Generator().manual_seed(5))
    expected = logits_of_transformers(directory, ids)
    assert expected.std() > 0.1
    torch.testing.assert_close(logits_here(directory, ids), expected, atol=1e-4, rtol=0)


def edit_config(directory: Path, **changes: Any) -> None:
    path = directory / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, **changes}))


@pytest.fixture
def copy(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may spoil."""
    return shutil.copytree(tiny_model, tmp_path / "copy")


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_logits_match_transformers(tmp_path: Path, family: Family, tied: bool) -> None:
    assert_same_logits(build(tmp_path, family=family, tied=tied))


def test_sharded_weights_match_transformers(tmp_path: Path) -> None:
    build(tmp_path, tied=False, shard="40KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    assert_same_logits(tmp_path)


@pytest.mark.parametrize("rope", [LLAMA3, {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}])
def test_rotary_scaling_matches_transformers(copy: Path, rope: dict[str, Any]) -> None:
    edit_config(copy, rope_parameters=rope)
    assert_same_logits(copy)


def test_older_rotary_keys_are_read(copy: Path) -> None:
    scaling = {key: value for key, value in LLAMA3.items() if key != "rope_theta"}
    edit_config(copy, rope_parameters=None, rope_theta=77.0, rope_scaling=scaling)
    assert_same_logits(copy)


def test_half_precision_files_are_computed_in_fp32(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = copy / "model.safetensors"
    save_file({name: x.bfloat16() for name, x in load_file(path).items()}, path, metadata={"format": "pt"})
    assert all(p.dtype == torch.float32 for p in Decoder.load(copy).parameters())
    assert_same_logits(copy)


def test_lora_reaches_every_linear_layer(tiny_model: Path) -> None:
    from peft import LoraConfig, inject_adapter_in_model

    decoder = Decoder.load(tiny_model)
    linears = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    inject_adapter_in_model(LoraConfig(r=2, target_modules=linears), decoder)
    trainable = [name for name, p in decoder.named_parameters() if p.requires_grad]
    assert len(trainable) == 2 * 7 * 2 and all("lora_" in name for name in trainable)
    ids = torch.arange(12)[None]
    decoder.logits(decoder(ids, ids, causal)).logsumexp(-1).sum().backward()
    gradients = [p.grad for name, p in decoder.named_parameters() if "lora_B" in name]
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "mamba"}, "family is 'mamba'"),
        ({"auto_map": {"AutoModel": "evil.Model"}}, "never run"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "not a causal language model"),
        ({"quantization_config": {"bits": 4}}, "quantised"),
        ({"use_sliding_window": True}, "sliding-window"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "'yarn'"),
        ({"rope_parameters": "fast"}, "rope_parameters"),
        ({"hidden_act": "gelu"}, "'gelu'"),
        ({"hidden_size": "wide"}, "config.json"),
        ({"hidden_size": 0}, "config.json"),
        ({"num_hidden_layers": 3}, "lack model.layers.2"),
        ({"num_hidden_layers": 1}, "does not know"),
        ({"intermediate_size": 47}, "shape"),
        ({"tie_word_embeddings": False}, "lack lm_head.weight"),
    ],
)
def test_what_cannot_be_used_is_named(copy: Path, changes: dict[str, Any], says: str) -> None:
    edit_config(copy, **changes)
    with pytest.raises(ModelError, match=says):
        Decoder.load(copy)


def test_missing_directory_and_files_are_named(copy: Path) -> None:
    with pytest.raises(ModelError, match="no model directory"):
        Decoder.load(copy / "nowhere" / "at" / "all")
    with pytest.raises(ModelError, match="is a file"):
        Decoder.load(copy / "config.json")
    (copy / "model.safetensors").write_bytes(b"not tensors")
    with pytest.raises(ModelError, match="not a readable safetensors file"):
        Decoder.load(copy)
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no model.safetensors"):
        Decoder.load(copy)
    (copy / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read as JSON"):
        Decoder.load(copy)
    (copy / "config.json").unlink()
    with pytest.raises(ModelError, match="has no config.json"):
        Decoder.load(copy)


def test_index_may_not_point_outside_its_directory(copy: Path) -> None:
    index = {"weight_map": {"model.norm.weight": "../elsewhere.safetensors"}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match="outside"):
        Decoder.load(copy)


def test_hub_id_without_network_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="hub cannot be reached"):
        locate("nobody-knows/this-model")
