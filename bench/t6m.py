"""T6M, the model of the rollout bars: a Qwen3 of 5.77 M parameters with random weights, written to disk.

Its text is a list of words, one id each, so that a prompt has exactly as many tokens as it has words. It
never ends a turn by itself: the end's column of the output says so for every input (a channel that is
constant in the residual stream points away from it), so every side samples exactly as many tokens as it is
asked for, without being told to suppress anything. What the sides do with it is theirs.

    python bench/t6m.py DIRECTORY [SEED]
"""

import json
import random
import sys
from pathlib import Path

VOCABULARY = 4096
SPECIAL = ("<|pad|>", "<|end|>", "<|unk|>")
NEVER_SAID = range(len(SPECIAL))
"""Ids that have no part in any text. The words of the template may be said: they mean nothing there."""
ROLES = ("turn", "system", "user", "assistant", "tool", "call")
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
MARGIN = 40.0
"""How far below the others the logits of ids that are never said lie, at least."""
TEMPLATE = """\
{%- for message in messages -%}
{{ 'turn ' + message.role }}
{%- if message.content %}{{ ' ' + message.content }}{% endif -%}
{%- for call in message.tool_calls or [] -%}
{{ ' call ' + call.function.name + ' ' + call.function.arguments | tojson }}
{%- endfor -%}
{{ ' ' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ 'turn assistant' }}{% endif -%}
"""
TEMPLATE_TOKENS = 2
"""Ids a message has besides its words; as many ask for an answer."""


def words() -> list[str]:
    """Every id's text."""
    named = [*SPECIAL, *ROLES]
    return named + [f"w{number}" for number in range(len(named), VOCABULARY)]


def text(count: int, seed: str) -> str:
    """`count` random words, that many ids."""
    rng = random.Random(seed)
    return " ".join(rng.choices(words()[len(SPECIAL) + len(ROLES) :], k=count))


def conversation(tokens: int, seed: str) -> list[dict[str, str]]:
    """A system and a user message that are `tokens` ids long, the question for an answer included."""
    system = 16
    asked = tokens - system - 3 * TEMPLATE_TOKENS
    return [
        {"role": "system", "content": text(system, f"{seed} system")},
        {"role": "user", "content": text(asked, f"{seed} user")},
    ]


def build(directory: Path, seed: int = 0) -> Path:
    """Write the model in Hugging Face's layout; returns its directory."""
    directory.mkdir(parents=True, exist_ok=True)
    write_tokenizer(directory)
    _write_weights(directory, seed)
    return directory


def write_tokenizer(directory: Path) -> None:
    """Tokenizer and chat template only."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    ids = {word: number for number, word in enumerate(words())}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<|unk|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|end|>",
        "pad_token": "<|pad|>",
        "unk_token": "<|unk|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": SHAPE["max_position_embeddings"],
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    (directory / "chat_template.jinja").write_text(TEMPLATE)


def _write_weights(directory: Path, seed: int) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen3", **SHAPE))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.08 if "embed" in name else 0.02)
        embedding_VH = model.get_input_embeddings().weight
        embedding_VH[:, 0] = 0.4
        embedding_VH[NEVER_SAID.start : NEVER_SAID.stop] = 0.0
        embedding_VH[NEVER_SAID.start : NEVER_SAID.stop, 0] = -MARGIN
    model.float().save_pretrained(directory)


if __name__ == "__main__":
    model = build(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(json.dumps({"model": str(model)}))
