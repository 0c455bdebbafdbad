"""What an answer must say: found by calling the agent's tools, and held against the checks.

A draft whose answer is not what the tools return, or whose right answer the checks would not accept, gets no
expectation and is no question.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpu_worker.tools.table import NO_ROWS
from gpu_worker.types import Message, Scenario, ToolError, Trajectory
from judging.checks import PASSED, check
from judging.matching import stands_in
from training.authoring.studio.questions.drafts import Draft
from training.authoring.studio.questions.question import Call
from training.authoring.studio.questions.values import ABSENT, ABSENT_TOO, hedges

ROW_MATES = 3
"""Other values of its row that an answer must not list."""
Expect = dict[str, Any]


def expected(draft: Draft, text: str) -> Expect | None:
    """The expectation of a question in these words, or None if it cannot be verified."""
    try:
        results = [draft.view.ask(name, arguments) for name, arguments in draft.calls]
    except ToolError:
        return None
    heard = f"{text} ; {draft.view.names}"
    if draft.kind == "missing":
        nothing = all(result == NO_ROWS for result in results)
        expect = absent(draft.calls, heard, draft.candidates) if nothing else None
        expect = expect if expect and expect["answer_lacks"] else None
    else:
        expect = None if _asks_it(draft, text) else _present(draft, results, heard)
    held = expect is not None and holds(expect, text, draft.asked[-1], draft.calls, results)
    return expect if held else None


def absent(calls: Sequence[Call], heard: str, candidates: Iterable[str]) -> Expect | None:
    """For what does not exist: that these calls looked for it in vain, and that the answer says so.

    `heard` are the question and names an answer may repeat; None if they say themselves that it is not there.
    """
    says_so = [phrase for phrase in (*ABSENT, *ABSENT_TOO) if not stands_in(phrase, heard)]
    if not says_so:
        return None
    return {
        "answer_has": [says_so],
        "answer_lacks": hedges(candidates, says_so, heard),
        "evidence": [NO_ROWS],
        "calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in calls],
    }


def holds(expect: Expect, text: str, asked: str, calls: Sequence[Call], results: Sequence[str]) -> bool:
    """Whether the checks accept right answers in some common words, and nothing that was not looked up."""
    answer = expect["answer_has"][0][0]
    said = [answer, f"The {asked} is {answer}.", f"{asked}是{answer}。"]
    scenario = Scenario("", "train", ({"role": "user", "content": text},), expect)
    passed = all(_value(scenario, _played(calls, results, words)) >= PASSED for words in said)
    return passed and _value(scenario, _played((), (), said[1])) < PASSED


def _asks_it(draft: Draft, text: str) -> bool:
    """Whether the answer stands in what answers are likely to say again; then it would prove nothing."""
    again = " ; ".join((text, *draft.asked, *draft.view.nouns))
    return draft.kind != "compare" and any(stands_in(answer, again) for answer in draft.answers)


def _present(draft: Draft, results: list[str], heard: str) -> Expect | None:
    """For an answer that rows hold: that they were seen, and that the answer says this and nothing beside."""
    shown = all(any(line in result.split("\n") for result in results) for line in draft.evidence)
    if not shown or not draft.evidence:
        return None
    lacks = [*draft.wrong, *hedges(draft.candidates, draft.answers, heard)]
    if not lacks:
        return None
    lacks += hedges(draft.mates, draft.answers, heard, ROW_MATES)
    vain = [phrase for phrase in ABSENT if not stands_in(phrase, " ; ".join((heard, *draft.answers)))]
    expect: Expect = {
        "answer_has": [list(draft.answers)],
        "answer_lacks": [*lacks, *vain],
        "evidence": list(draft.evidence),
    }
    if draft.kind == "count":
        expect["calls"] = [{"name": name, "arguments": dict(given)} for name, given in draft.calls]
    return expect


def _value(scenario: Scenario, trajectory: Trajectory) -> float:
    score = check(scenario, trajectory)
    return score.value if score else 0.0


def _played(calls: Sequence[Call], results: Sequence[str], answer: str) -> Trajectory:
    """A try that makes these calls and then answers."""
    messages: list[Message] = []
    for (name, arguments), result in zip(calls, results, strict=True):
        messages += [_called(name, arguments), {"role": "tool", "tool_call_id": "1", "content": result}]
    messages.append({"role": "assistant", "content": answer})
    return Trajectory("", 0, tuple(messages), (), "answered")


def _called(name: str, arguments: Mapping[str, Any]) -> Message:
    function = {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False)}
    call = {"id": "1", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}
