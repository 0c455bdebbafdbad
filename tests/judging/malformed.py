"""Answers no judge should give, by class; each function makes one from the right entries and chance."""

import json
import random
from collections.abc import Callable
from typing import Any

Entries = list[dict[str, Any]]
Spoil = Callable[[Entries, random.Random], str]


def _wrapped(entries: Any, **options: Any) -> str:
    return json.dumps({"scores": entries}, **options)


def _each(entries: Entries, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    return _wrapped([entry | change(entry) for entry in entries])


def _one(entries: Entries, source: random.Random, **change: Any) -> str:
    unlucky = source.randrange(len(entries))
    return _wrapped([entry | change if i == unlucky else entry for i, entry in enumerate(entries)])


def _raw(entries: Entries, source: random.Random, literal: str) -> str:
    marker = 0.123456789
    return _one(entries, source, score=marker).replace(str(marker), literal)


def _garbage(_: Entries, source: random.Random) -> str:
    alphabet = '{}[]":,. \n\\<>`0123456789eE+-truefalsenullNaNscores\ud800\x00\ufeff\u2028é中'
    return "".join(source.choices(alphabet, k=source.randrange(400)))


def _bitten(entries: Entries, source: random.Random) -> str:
    text = list(_wrapped(entries))
    for _ in range(source.randint(1, 6)):
        text[source.randrange(len(text))] = source.choice('{}[]":,x0-. \\')
    return "".join(text)


def _draft_first(entries: Entries, source: random.Random) -> str:
    draft = _wrapped([entry | {"score": source.random()} for entry in entries[:-1]])
    return f"My draft: {draft}\nOn reflection:\n```json\n{_wrapped(entries)}\n```\nI hope this helps {{}}."


WELL_MEANT: dict[str, Spoil] = {
    "fence": lambda e, s: f"```json\n{_wrapped(e, indent=2)}\n```",
    "prose around": lambda e, s: f"Sure! [Here] are {{my}} scores:\n\n{_wrapped(e)}\n\nAnything else? {{}}",
    "thinking": lambda e, s: f'<think>{{"scores": [{{"a": 1}}]}} hm</think>{_wrapped(e)}',
    "byte order mark": lambda e, s: "\ufeff" + _wrapped(e),
    "a bare list": lambda e, s: json.dumps(e),
    "a map": lambda e, s: json.dumps({x["trajectory_id"]: x["score"] for x in e}),
    "a map of entries": lambda e, s: _wrapped({x["trajectory_id"]: x for x in e}),
    "scores as text": lambda e, s: _each(e, lambda x: {"score": str(x["score"])}),
    "short key": lambda e, s: _wrapped([{"id": x["trajectory_id"], "score": x["score"]} for x in e]),
    "capitals and quotes in ids": lambda e, s: _each(
        e, lambda x: {"trajectory_id": f" #{x['trajectory_id'].upper()}' "}
    ),
    "draft first": _draft_first,
    "explanation of another kind": lambda e, s: _each(
        e, lambda x: {"explanation": s.choice([None, 5, ["a"], {}])}
    ),
    "long explanation": lambda e, s: _each(e, lambda x: {"explanation": "so \x00\u202e" * 1_000}),
    "comma after the list": lambda e, s: _wrapped(e)[:-1] + ",}",
    "JSON in a text": lambda e, s: json.dumps(_wrapped(e)),
    "another key": lambda e, s: json.dumps({s.choice(["results", "trajectories", "grades"]): e}),
    "ids as in the frames": lambda e, s: _each(e, lambda x: {"trajectory_id": f"try-{x['trajectory_id']}"}),
    "further keys": lambda e, s: json.dumps({"note": {"scores": 1}, "scores": e, "total": 3}),
}

OUT_OF_RANGE: dict[str, Spoil] = {
    "negative": lambda e, s: _each(e, lambda x: {"score": -s.random() * 10}),
    "out of ten": lambda e, s: _each(e, lambda x: {"score": s.randint(2, 15)}),
    "enormous": lambda e, s: _each(e, lambda x: {"score": s.choice([1e308, -1e308, 10**30])}),
}

MALFORMED: dict[str, Spoil] = {
    "empty": lambda e, s: s.choice(["", " ", "\n\n", "\x00"]),
    "refusal": lambda e, s: "I'm sorry, but I can't compare these tries.",
    "prose scores": lambda e, s: "\n".join(f"Try {x['trajectory_id']}: {x['score']}" for x in e),
    "truncated": lambda e, s: (text := _wrapped(e))[: s.randrange(len(text) - 2)],
    "NaN": lambda e, s: _raw(e, s, s.choice(["NaN", "Infinity", "-Infinity"])),
    "overflow": lambda e, s: _raw(e, s, s.choice(["1e999", "-1e999", "9" * 400, "9" * 5_000])),
    "NaN as text": lambda e, s: _one(e, s, score=s.choice(["nan", "inf", "-Infinity", "1e999"])),
    "words": lambda e, s: _one(e, s, score=s.choice(["high", "", "0,5", "1/2", "0.5 of 1", "８％"])),
    "percent": lambda e, s: _one(e, s, score=f"{s.randrange(100)}%"),
    "true and false": lambda e, s: _one(e, s, score=s.choice([True, False])),
    "null": lambda e, s: _one(e, s, score=None),
    "nested score": lambda e, s: _one(e, s, score=s.choice([[0.5], {"value": 0.5}])),
    "no score": lambda e, s: _wrapped([*e[1:], {"trajectory_id": e[0]["trajectory_id"]}]),
    "missing try": lambda e, s: _wrapped(s.sample(e, len(e) - 1)),
    "doubled try": lambda e, s: _wrapped([*e, s.choice(e)]),
    "unknown id": lambda e, s: _one(
        e, s, trajectory_id=s.choice(["zzzzz", "1", "", "<try>", "trajectory_1"])
    ),
    "id of another kind": lambda e, s: _one(e, s, trajectory_id=s.choice([1, None, ["x"], {"id": "x"}, 0.5])),
    "no ids": lambda e, s: _wrapped([x["score"] for x in e]),
    "scores of another kind": lambda e, s: _wrapped(s.choice(["0.5", 3, None, True, [[]], [None], [1]])),
    "other JSON": lambda e, s: s.choice(
        ["null", "0.5", '"scores"', "[]", "{}", "true", "[[[]]]", '{"": {}}']
    ),
    "single quotes": lambda e, s: str({"scores": e}),
    "comma before a bracket": lambda e, s: _wrapped(e).replace("]", ",]"),
    "comments": lambda e, s: _wrapped(e).replace("[", "[ // the scores\n", 1),
    "deep": lambda e, s: s.choice(['{"a":', "[", '[{"a":', '{"scores":[']) * s.choice([500, 2_000, 50_000]),
    "five megabytes": lambda e, s: s.choice(["x", "{", '{"', "[{", '{"a":1}', "<think>"]) * 1_000_000,
    "a table": lambda e, s: (
        "| id | score |\n|---|---|\n" + "\n".join(f"| {x['trajectory_id']} | {x['score']} |" for x in e)
    ),
    "lines of JSON": lambda e, s: "\n".join(json.dumps(x) for x in e),
    "a call of a tool": lambda e, s: json.dumps({"name": "scores", "arguments": _wrapped(e)}),
    "XML": lambda e, s: "".join(f"<score id='{x['trajectory_id']}'>{x['score']}</score>" for x in e),
    "ids swapped with scores": lambda e, s: _each(e, lambda x: {"trajectory_id": x["score"], "score": "x"}),
    "yaml": lambda e, s: "scores:\n" + "\n".join(f"- id: {x['trajectory_id']}\n  score: 1" for x in e),
    "garbage": _garbage,
}

EITHER: dict[str, Spoil] = {"bitten": _bitten}
"""May or may not be readable."""
