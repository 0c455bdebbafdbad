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
from gpu_worker.engines.embedded.recipe.scripts import IDEOGRAPHS, LETTERS

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


def with_letters(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer and, after its own tokens, one for each letter of two bytes that is common in
    Europe and one for each pair of bytes that an ideograph or kana begins with. ASCII is cut as before."""
    bytes_as_text = {byte: sign for byte, sign in zip(_BYTES, _BYTE_SIGNS, strict=True)}
    pairs = [tuple(letter.encode()) for letter in LETTERS]
    pairs += sorted({tuple(chr(code).encode()[:2]) for code in (*range(0x3000, 0x3100), *range(*IDEOGRAPHS))})
    file = json.loads(tokenizer.to_str())
    for first, second in dict.fromkeys(pairs):
        merge = [bytes_as_text[first], bytes_as_text[second]]
        if "".join(merge) not in file["model"]["vocab"]:
            file["model"]["merges"].append(merge)
            file["model"]["vocab"]["".join(merge)] = len(file["model"]["vocab"])
    return Tokenizer.from_str(json.dumps(file))


_PRINTED = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_BYTES = (*_PRINTED, *(byte for byte in range(256) if byte not in _PRINTED))
_BYTE_SIGNS = (*map(chr, _PRINTED), *(chr(256 + at) for at in range(256 - len(_PRINTED))))
"""How byte-level BPE writes each byte as one printable sign (GPT-2's table)."""


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
