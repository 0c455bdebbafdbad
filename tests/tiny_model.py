"""Builds tiny random models in Hugging Face's own file layout, for tests that want a real thing quickly.

The weights are random, so what such a model says is noise; everything around it (tokenizer, chat
template, config, safetensors) is what a real directory has. What a model should *say* is left to others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

Family = Literal["llama", "qwen2", "qwen3"]

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKUP = ("<tool_call>", "</tool_call>")

CORPUS = (
    "system user assistant tool name description parameters arguments type function object string",
    "You are the order desk of a shop. Where is my order? It was shipped to the customer on Monday.",
    "Return a json object with function name and arguments for each function call.",
    "The latest order of this e-mail address is 1042, it cost 19.90 and its status is shipped.",
)

CHAT_TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- '# Tools\\n' }}
    {%- for tool in tools %}
        {{- (tool | tojson) + '\\n' }}
    {%- endfor %}
    {{- 'Call one with <tool_call>{\"name\": …, \"arguments\": {…}}</tool_call>.<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' + (message.content or '') }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if message.content or not loop.first %}{{- '\\n' }}{%- endif %}
            {{- '<tool_call>\\n{\"name\": ' + (tool_call.function.name | tojson) }}
            {{- ', \"arguments\": ' + (tool_call.function.arguments | tojson) + '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'user' or message.role == 'tool' or not loop.first %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def build(
    directory: Path, *, family: Family = "llama", seed: int = 0, tied: bool = True, shard: str = "5GB"
) -> Path:
    """Write a random model of `family` (2 layers, hidden 32, 4 heads on 2) into `directory`; returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    (directory / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    _save_weights(directory, family, seed, tied, shard, tokenizer)
    return directory


def build_speaking(directory: Path, pieces: Sequence[str]) -> Path:
    """Write a model that answers whatever it is asked with `pieces` (all different), and ends its turn.

    Its layers add nothing: each id points to the next one through the output matrix.
    """
    import torch
    from safetensors.torch import load_file, save_file

    build(directory, tied=False)
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.add_tokens([AddedToken(piece, special=False, normalized=False) for piece in pieces])
    tokenizer.save(str(directory / "tokenizer.json"))
    chain = [tokenizer.token_to_id(text) for text in ("\u010a", *pieces, "<|im_end|>")]
    vocabulary, hidden = tokenizer.get_vocab_size(), 32
    weights = {
        n: x if "norm" in n else x.zero_() for n, x in load_file(directory / "model.safetensors").items()
    }
    weights["model.norm.weight"] = torch.ones(hidden)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[name] = torch.zeros(vocabulary, hidden)
    for place, (this, following) in enumerate(zip(chain, chain[1:], strict=False)):
        weights["model.embed_tokens.weight"][this, place] = 1.0
        weights["lm_head.weight"][following, place] = 20.0
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, "vocab_size": vocabulary}))
    return directory


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=340, initial_alphabet=alphabet, special_tokens=list(SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKUP])
    return tokenizer


def _save_weights(
    directory: Path, family: Family, seed: int, tied: bool, shard: str, tokenizer: Tokenizer
) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    shape = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "tie_word_embeddings": tied,
        "eos_token_id": tokenizer.token_to_id("<|im_end|>"),
        "bos_token_id": None,
        "pad_token_id": tokenizer.token_to_id("<|endoftext|>"),
    }
    if family == "llama":
        shape["attention_bias"] = True
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **shape))
        for name, parameter in model.named_parameters():
            spread = 0.2 if parameter.dim() > 1 else 0.1
            torch.nn.init.normal_(parameter, mean=float("norm" in name), std=spread)
    model.float().save_pretrained(directory, max_shard_size=shard)
