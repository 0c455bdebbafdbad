"""The tokenizer: byte-level BPE whose splitting makes copying easy, and the chat template beside it.

A value looks the same wherever it stands: digits come in pairs and never merge with a space, a space
belongs to the word or mark before it, the parts of addresses and identifiers stand alone, and the
fixed strings of a tool call are one token each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from gpu_worker.engines.embedded.recipe.dialogues import Dialogue

END_OF_TEXT, TURN, END_OF_TURN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL = (END_OF_TEXT, TURN, END_OF_TURN)
CALL = ("<tool_call>", "</tool_call>")
TEMPLATE = Path(__file__).with_name("chat_template.jinja")
VOCABULARY = 1536

PIECES = "|".join(
    (
        r'\n\{"name":"|","arguments":\{(?:"|\}\}\n)|":"|","|"\}\}\n',  # the fixed strings of a tool call
        r"(?:system|user|assistant|tool)\n",
        r"\d{1,2}",
        r"_(?:id|no|number|ref|name)(?![a-z])|_",
        r"(?<=[@._|=-])[a-z]+",
        r"(?:[A-Z]?[a-z]+|[A-Z]+) ?",
        r"\s",
        r"[^\sA-Za-z0-9] ?",
    )
)


def train_tokenizer(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Tokenizer:
    """Byte-level BPE over `texts`; the special tokens come first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [AddedToken(token, special=True, normalized=False) for token in SPECIAL]
    added += [AddedToken(token, special=False, normalized=False) for token in CALL]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=added,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([token for token in added if not token.special])
    return tokenizer


@lru_cache(maxsize=1)
def _template() -> Any:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def rendered(dialogue: Dialogue, *, to_continue: bool = False) -> str:
    """The dialogue as the model reads it."""
    tools = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}}
        for tool in dialogue.tools
    ]
    return _template().render(messages=dialogue.messages, tools=tools, add_generation_prompt=to_continue)


def save_tokenizer(tokenizer: Tokenizer, directory: Path) -> None:
    """tokenizer.json, tokenizer_config.json and chat_template.jinja."""
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 2048,
        "eos_token": END_OF_TURN,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "add_bos_token": False,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (directory / "chat_template.jinja").write_bytes(TEMPLATE.read_bytes())
