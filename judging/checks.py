"""Verifiable checks: does a try do what its scenario expects? No model is asked.

The keys of `Scenario.expect` are explained in gpu_worker.types. Whether a try did it *well* is left to
the judge.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from gpu_worker.types import Ended, Message, Scenario, Score, Trajectory
from judging.matching import normal, stands_in

UNFINISHED_SHARE = 0.25
"""Of its passed checks a try that did not end with an answer keeps this share: never enough to succeed."""
PASSED = 0.999
"""A verifiable score from here on is a success."""


def check(scenario: Scenario, trajectory: Trajectory) -> Score | None:
    """The share of expectations that `trajectory` meets, or None where nothing is expected.

    Each entry of answer_has, evidence and calls counts once; an answer that says something of answer_lacks
    meets none of answer_has.
    """
    failures = list(_findings(scenario.expect, trajectory))
    if not failures:
        return None
    failed = [failure for failure in failures if failure]
    share = 1 - len(failed) / len(failures)
    if trajectory.ended != "answered":
        told = f"{_ended_reason(trajectory.ended)}; {_said(failed, len(failures))}"
        return Score("checks", UNFINISHED_SHARE * share, told)
    return Score("checks", share, _said(failed, len(failures)))


def final_answer(trajectory: Trajectory) -> str | None:
    """What the agent said last, if the try ended with an answer."""
    last = trajectory.messages[-1] if trajectory.messages else {}
    if trajectory.ended != "answered" or last.get("role") != "assistant":
        return None
    return text_of(last)


def text_of(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


def calls_of(messages: Iterable[Message]) -> list[tuple[str, Any]]:
    """Name and arguments of every tool call made; arguments that are not JSON stay the text they are."""
    calls = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call.get("function", call)
            calls.append((str(function.get("name", "")), _read(function.get("arguments", {}))))
    return calls


def _findings(expect: dict[str, Any], trajectory: Trajectory) -> Iterable[str]:
    """One entry for each thing expected: empty if it is met, else what is wrong."""
    yield from _answer_findings(expect, final_answer(trajectory))
    results = [text_of(message) for message in trajectory.messages if message.get("role") == "tool"]
    for wanted in expect.get("evidence", ()):
        yield "" if _shown(wanted, results) else f"no tool result shows “{_cut(wanted)}”"
    calls = calls_of(trajectory.messages)
    for call in expect.get("calls", ()):
        yield "" if _made(call, calls) else f"{call['name']} was not called as expected"


def _answer_findings(expect: dict[str, Any], answer: str | None) -> Iterable[str]:
    """What must not be said spoils what must: a long list of it would else outweigh everything."""
    has, lacks = expect.get("answer_has", ()), expect.get("answer_lacks", ())
    if answer is None:
        for _expected in has or lacks[:1]:
            yield "there is no answer"
        return
    spoilt = next((_lacks_reason(text) for text in lacks if stands_in(text, answer)), "")
    for texts in has:
        said = any(stands_in(text, answer) for text in texts)
        yield spoilt if said else f"the answer does not say {any_of(texts)}"
    if lacks and not has:
        yield spoilt


def _lacks_reason(spoiling: str) -> str:
    return f"the answer must not say “{_cut(spoiling)}”"


def _ended_reason(ended: Ended) -> str:
    return f"ended without an answer ({ended.replace('_', ' ')})"


def _shown(text: str, results: list[str]) -> bool:
    return any(
        stands_in(text, result, commas_separate=split) for result in results for split in (True, False)
    )


def _made(wanted: dict[str, Any], calls: list[tuple[str, Any]]) -> bool:
    arguments = wanted.get("arguments", {})
    return any(name == wanted["name"] and _covers(given, arguments) for name, given in calls)


def _covers(given: Any, wanted: Any) -> bool:
    """Whether `given` holds all of `wanted`; numbers and texts are the same if they read the same."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(k in given and _covers(given[k], v) for k, v in wanted.items())
    if isinstance(wanted, list):
        same_length = isinstance(given, list) and len(given) == len(wanted)
        return same_length and all(map(_covers, given, wanted))
    if isinstance(given, (dict, list)):
        return False
    return normal(str(given)) == normal(str(wanted))


def _read(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def any_of(texts: Sequence[str]) -> str:
    match [_cut(text) for text in texts]:
        case [one]:
            return f"“{one}”"
        case [one, other]:
            return f"“{one}” or “{other}”"
        case [one, other, third]:
            return f"“{one}” or “{other}” or “{third}”"
        case [one, other, third, *_]:
            return f"“{one}” or “{other}” or “{third}” or the like"
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def _said(failed: list[str], count: int) -> str:
    if not failed:
        return "the one check passed" if count == 1 else f"all {count} checks passed"
    shown = "; ".join([*failed[:3], *_left_reasons(len(failed) - 3)])
    return f"{len(failed)} of {count} checks failed: {shown}"


def _left_reasons(left: int) -> Iterable[str]:
    if left > 0:
        yield f"and {left} more"
