"""A model's words: its tokenizer, and its chat template rendered as transformers renders it.

Prompts only ever grow: ids a model has seen or said are kept as they are, and only what the template
appends to them is tokenised anew. Templates are found and compiled in `template.py`; reading tool calls is
left to `calls.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from gpu_worker.engines.embedded.directory import ModelError, read_optional_json
from gpu_worker.engines.embedded.template import CLOCK, REFUSALS, compiled, sources_in
from gpu_worker.types import Message, ToolSpec

TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>")
"""Texts that end a turn in the families the decoder knows, whether or not a config names them."""


T = TypeVar("T")

REMEMBERED = 512
"""Renderings that are kept: the tries of a group, and the turns of a try, begin alike."""

MARK = "\ue000"
"""Stands for an assistant's words where only what follows them is wanted."""


class Chat:
    """Text to ids and back for one model directory. Raises ModelError when it has no chat template."""

    def __init__(self, directory: Path) -> None:
        settings = read_optional_json(directory / "tokenizer_config.json")
        self.tokenizer = _tokenizer(directory)
        self.ends = _turn_ends(directory, settings, self.tokenizer)
        self.specials = _special_texts(self.tokenizer)
        self._named = {key: _text_of(value) for key, value in settings.items() if key.endswith("_token")}
        sources = sources_in(directory, settings)
        self._templates = compiled(sources, directory)
        self._timeless = not any(CLOCK in source for source in sources.values())
        self._rendered: dict[str, str] = {}
        self._encoded: dict[str, list[int]] = {}

    @property
    def size(self) -> int:
        """One more than the largest id the tokenizer can give."""
        return max(self.tokenizer.get_vocab(with_added_tokens=True).values()) + 1

    def render(self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, ask: bool = True) -> str:
        """The conversation as the model reads it; with `ask`, up to where the assistant begins to speak."""
        try:
            if self._timeless:
                key = repr((messages, tools, ask))
                return _remembered(self._rendered, key, lambda: self._render(messages, tools, ask))
            return self._render(messages, tools, ask)
        except REFUSALS as error:
            raise ModelError(f"The model's chat template refuses the conversation: {error}.") from error

    def _render(self, messages: Sequence[Message], tools: Sequence[ToolSpec], ask: bool) -> str:
        template = self._templates.get("tool_use" if tools else "default") or self._templates["default"]
        text = template.render(
            messages=[self._plain(message) for message in messages],
            tools=[self._inert(_declared(tool)) for tool in tools] or None,
            documents=None,
            add_generation_prompt=ask,
            **self._named,
        )
        return _whole(text)

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def prompt_ids(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], seen: Sequence[int] = ()
    ) -> list[int]:
        """Ids to answer after: `seen` and what the template appends to it, or a fresh rendering.

        Fresh when there is nothing to extend, or when the template rewrote what stood before the last
        assistant turn or that turn itself.
        """
        asked = self.render(messages, tools)
        tail = self._appended(messages, tools, asked) if seen else None
        if tail is None:
            return _remembered(self._encoded, asked, lambda: self.encode(asked)).copy()
        end = self.ends.get(seen[-1])
        return [*seen, *self.encode(tail.removeprefix(end) if end else tail)]

    def _appended(self, messages: Sequence[Message], tools: Sequence[ToolSpec], asked: str) -> str | None:
        """What follows the words of the last assistant turn, from their end-of-turn text on.

        None when there is no such turn, or when `asked` has other words before it or for it.
        """
        spoken = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        if not spoken:
            return None
        earlier, turn, later = messages[: spoken[-1]], messages[spoken[-1]], messages[spoken[-1] + 1 :]
        mark = next(mark for n in count() if (mark := f"{MARK}{n}{MARK}") not in asked)
        marked = self.render([*earlier, {"role": "assistant", "content": mark}, *later], tools)
        after = marked.partition(mark)[2]
        ends = [after.find(end) for end in self.ends.values() if end in after]
        tail, before = after[min(ends, default=len(after)) :], self.render(earlier, tools)
        if not (tail and asked.startswith(before) and asked.endswith(tail)):
            return None
        said = asked[len(before) : len(asked) - len(tail)]
        return tail if _letters(self._plain(turn)["content"]) in _letters(said) else None

    def stream(self) -> Callable[[int], str | None]:
        """A function that takes ids one by one and gives the text as soon as its bytes are complete."""
        decoder = DecodeStream(skip_special_tokens=False)
        return lambda token: decoder.step(self.tokenizer, token)

    def _plain(self, message: Message) -> dict[str, Any]:
        """A message as templates want it: text content, arguments as objects, no control tokens inside."""
        plain = {**message, "content": _text_content(message.get("content"))}
        if message.get("tool_calls"):
            plain["tool_calls"] = [_with_object_arguments(call) for call in message["tool_calls"]]
        return self._inert(plain)

    def _inert(self, value: Any) -> Any:
        """`value` with control tokens in its texts broken up, so that nobody ends a turn by writing so."""
        if isinstance(value, str):
            for special in self.specials:
                if special in value:
                    value = value.replace(special, f"{special[0]} {special[1:]}")
            return value
        if isinstance(value, dict):
            return {key: self._inert(inner) for key, inner in value.items()}
        return [self._inert(inner) for inner in value] if isinstance(value, list | tuple) else value


def _remembered(known: dict[str, T], key: str, make: Callable[[], T]) -> T:
    """known[key], made where it is not there; of too many the oldest goes."""
    if key not in known:
        value = make()
        if len(known) >= REMEMBERED:
            del known[next(iter(known))]
        known[key] = value
    return known[key]


def _tokenizer(directory: Path) -> Tokenizer:
    path = directory / "tokenizer.json"
    if not path.exists():
        raise ModelError(f"The model directory {directory} has no tokenizer.json.")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ModelError(f"{path} is not a readable tokenizer: {error}.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _special_texts(tokenizer: Tokenizer) -> list[str]:
    return [
        t.content for t in tokenizer.get_added_tokens_decoder().values() if t.special and len(t.content) > 1
    ]


def _turn_ends(directory: Path, settings: Mapping[str, Any], tokenizer: Tokenizer) -> dict[int, str]:
    """Ids that end a turn with their texts, from all places where a directory may name them."""
    ids: set[int | None] = set()
    for name in ("generation_config.json", "config.json"):
        named = read_optional_json(directory / name).get("eos_token_id")
        ids.update(i for i in (named if isinstance(named, list) else [named]) if isinstance(i, int))
    for text in (_text_of(settings.get("eos_token")), *TURN_ENDS):
        ids.add(tokenizer.token_to_id(text) if text else None)
    ends = {i: tokenizer.id_to_token(i) for i in sorted(i for i in ids if i is not None)}
    if not any(ends.values()):
        raise ModelError(f"The model in {directory} names no end-of-turn token (eos_token).")
    return {i: text for i, text in ends.items() if text}


def _text_of(token: Any) -> str | None:
    """A special token as tokenizer_config.json writes it: a text, or an object with its content."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _declared(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _text_content(content: Any) -> str:
    """Content as text: OpenAI also allows null and a list of text parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


def _whole(text: str) -> str:
    """`text` with a replacement character for every half of a character, which has no ids."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _letters(text: str) -> str:
    """`text` without its white space, which templates trim as they like."""
    return "".join(text.split())


def _with_object_arguments(call: dict[str, Any]) -> dict[str, Any]:
    """A tool call whose arguments are an object; OpenAI's form has them as JSON text."""
    function = call["function"]
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        return call
    try:
        return {**call, "function": {**function, "arguments": json.loads(arguments or "{}")}}
    except ValueError:
        return call
