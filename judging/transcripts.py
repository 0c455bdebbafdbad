"""A try as a judge reads it: a line for each text, call and result, and a line of facts a program measured.

Call ids, empty texts and spaces between JSON's marks are left out. Long texts lose their middle, so that how
a try ends stays in sight. What stands in several tries is written once by sharing.py.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_worker.types import Message, ToolSpec, Trajectory
from judging.checks import calls_of, text_of
from judging.quoting import LONGEST_JSON, shown, shown_text

TRY_LIMIT = 24_000
"""Characters of one try that a judge is shown; the middle of long messages is left out."""
ALLOWANCES = (24_000, 12_000, 6_000, 3_000, 1_500, 700, 300)
"""Characters one message may have; few steps, so that the same text is cut alike in every try."""
MOST_MESSAGES = 400
"""A longer try loses messages from its middle."""
OUTCOME = 2
"""So many messages at the end of a try are cut last."""
LONGEST_COMPLAINT = 300


def facts(trajectory: Trajectory) -> dict[str, Any]:
    """What a program can tell of a try, for every judge to read. What is 0 is left out."""
    results = [text_of(message) for message in trajectory.messages if message.get("role") == "tool"]
    told: dict[str, Any] = {
        "ended": trajectory.ended,
        "turns": trajectory.turns,
        "calls": len(calls_of(trajectory.messages)),
        "failed_calls": sum(is_error(result) for result in results),
    }
    told = {name: value for name, value in told.items() if value}
    for score in trajectory.scores:
        if score.source in ("checks", "environment"):
            told[score.source] = round(score.value, 4)
            told[f"{score.source}_say"] = score.explanation[:LONGEST_COMPLAINT]
    return told


def is_error(result: str) -> bool:
    """Tools report a refused call in a text that starts so."""
    return result.lstrip().casefold().startswith("error")


def lines(messages: Sequence[Message], limit: int = TRY_LIMIT) -> list[str]:
    """Messages as a judge reads them: a line for each text, call and result, `limit` characters or so."""
    messages = _in_order(messages)
    left_out = len(messages) - MOST_MESSAGES
    if left_out > 0:
        middle = MOST_MESSAGES // 2
        gap = f"({left_out} messages are left out here)"
        start, end = messages[:middle], messages[middle + left_out :]
        return [*_lines(start, limit // 2), gap, *_lines(end, limit // 2)]
    return list(_lines(messages, limit))


def tool_line(tool: ToolSpec) -> str:
    """A tool in one line: name, description, what it takes; "?" follows what may be left out."""
    about = f" {shown(tool.description)}" if tool.description else ""
    return f"tool {shown(tool.name)}{about} takes {shown(_parameters(tool.parameters))}"


def _lines(messages: Sequence[Message], limit: int) -> Iterator[str]:
    texts = [_text(message) for message in messages]
    whole = [shown_text(_cut(text, LONGEST_JSON)) for text in texts]
    each = _allowance([len(said) for said in whole], limit)
    for place, (message, text) in enumerate(zip(messages, texts, strict=True)):
        near_end = len(messages) - place <= OUTCOME
        allowed = max(each, limit // (2 * OUTCOME)) if near_end else each
        if text or not message.get("tool_calls"):
            fits = len(whole[place]) <= allowed
            yield f"{_role(message)}: {whole[place] if fits else _shortened(text, allowed)}"
        for name, arguments in calls_of([message]):
            said = shown(arguments)
            yield f"call {shown(_cut(name, ALLOWANCES[-1]))} " + (
                said if len(said) <= allowed else shown(_cut(said, allowed))
            )


def _shortened(text: str, limit: int) -> str:
    """About `limit` characters of a text, escapes included. What is cut is no longer JSON but a text."""
    room = limit
    while len(said := shown(_cut(text, room))) > limit + ALLOWANCES[-1] and room > 1:
        room = min(room - 1, room * limit // len(said))
    return said


def _allowance(lengths: Sequence[int], limit: int) -> int:
    """The largest allowance of a message with which all of them stay within `limit`."""
    for allowed in ALLOWANCES:
        if sum(min(length, allowed) for length in lengths) <= limit:
            return allowed
    return ALLOWANCES[-1]


def _in_order(messages: Sequence[Message]) -> list[Message]:
    """Results follow in the order of their calls, because the ids that would tell are left out."""
    ordered: list[Message] = []
    places: dict[str, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.get("role") == "tool":
            results.append(message)
            continue
        ordered += _by_call(results, places)
        results = []
        calls = message.get("tool_calls") or ()
        places = {str(call.get("id")): place for place, call in enumerate(calls)}
        ordered.append(message)
    return ordered + _by_call(results, places)


def _by_call(results: list[Message], places: dict[str, int]) -> list[Message]:
    return sorted(results, key=lambda result: places.get(str(result.get("tool_call_id")), len(places)))


def _text(message: Message) -> str:
    """A message's words; of a content in parts, the words of its texts and the kinds of the others."""
    content = message.get("content")
    if not isinstance(content, list):
        return text_of(message)
    return "\n".join(map(_part, content))


def _part(part: Any) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type", "other") if isinstance(part, dict) else "other"
    return f"({str(kind)[:40]})"


def _role(message: Message) -> str:
    role = message.get("role")
    return "result" if role == "tool" else role if role in ("system", "user", "assistant") else "other"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]} … ({len(text) - head - tail} characters left out) … {text[-tail:]}"


def _parameters(schema: dict[str, Any]) -> Any:
    """{"name": "string", "note?": "string: what it is"} where the schema is a plain one, else the schema."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    required = schema.get("required") or ()
    return {f"{name}{'' if name in required else '?'}": _kind(what) for name, what in properties.items()}


def _kind(what: Any) -> Any:
    """A plain parameter in a few words; one with more to it as its schema says."""
    if not isinstance(what, dict) or set(what) - {"type", "description", "items", "title", "default"}:
        return what
    kind, items = what.get("type"), what.get("items")
    if not isinstance(kind, str) or (items is not None and set(items) != {"type"}):
        return what
    words = f"{kind} of {items['type']}" if items else kind
    words += f" ({what['default']})" if "default" in what else ""
    return f"{words}: {what['description']}" if what.get("description") else words
