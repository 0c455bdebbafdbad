"""Yes, no, maybe: the smallest thing an agent can learn. Left to itself it does not know that the
best answer is always "maybe"; a reward of 1 for it, .75 for no and .5 for yes teaches it in a few steps.

Source: ART's smoke test of the same name.
"""

from __future__ import annotations

import random
from itertools import permutations

from gpu_worker.types import Scenario, Score, Split, Tool, Trajectory

REWARDS = {"maybe": 1.0, "no": 0.75, "yes": 0.5}
OPENINGS = ("respond", "just respond", "answer", "just answer", "please answer", "reply", "please reply")
ENDINGS = ("", " please", " only", " now", " thanks", " ok")
SPLITS: tuple[Split, ...] = ("train", "val", "test")
SHARES = {"train": 0.6, "val": 0.2, "test": 0.2}


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _prompts() -> list[str]:
    """Every opening and ending with every order of two or three of the words, in three kinds of quotes."""
    orders = [order for count in (3, 2) for order in permutations(REWARDS, count)]
    return [
        f"{opening} with {_listed(tuple(f'{quote}{word}{quote}' for word in order))}{ending}"
        for opening in OPENINGS
        for order in orders
        for quote in ("", "'", '"')
        for ending in ENDINGS
    ]


def _prompts_of(split: Split) -> list[str]:
    prompts = _prompts()
    random.Random("yes-no-maybe").shuffle(prompts)
    start = sum(int(SHARES[before] * len(prompts)) for before in SPLITS[: SPLITS.index(split)])
    end = len(prompts) if split == SPLITS[-1] else start + int(SHARES[split] * len(prompts))
    return prompts[start:end]


def _first_word(answer: str) -> str:
    words = answer.lower().split()
    return words[0].strip(".,:;!?\"'") if words else ""


class YesNoMaybe:
    """One turn, no tools, a fixed reward a word."""

    name = "yes_no_maybe"
    title = "Yes, no, maybe"
    system_prompt = "Answer with one word."
    max_turns = 1

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        """`count` different prompts of the split, drawn with `seed`. Raises ValueError if there are fewer."""
        prompts = _prompts_of(split)
        if count > len(prompts):
            raise ValueError(f"yes_no_maybe has {len(prompts)} {split} prompts; {count} were asked for.")
        drawn = random.Random(f"{split} {seed}").sample(prompts, count)
        return [
            Scenario(
                id=f"{split}-{_prompts().index(prompt):03d}",
                split=split,
                messages=({"role": "user", "content": prompt},),
                tags=("one word",),
            )
            for prompt in drawn
        ]

    def tools(self, scenario: Scenario) -> list[Tool]:
        return []

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score:
        """What the first word of the answer is worth; 0 for any other word or an unfinished try."""
        answer = str(trajectory.messages[-1].get("content") or "") if trajectory.messages else ""
        word = _first_word(answer) if trajectory.ended == "answered" else ""
        value = REWARDS.get(word, 0.0)
        return Score(source="environment", value=value, explanation=f"{_reason(word, value)}.")


def _reason(word: str, worth: float) -> str:
    return f"Said “{word[:20]}”, worth {worth:g}" if word else f"Said nothing readable, worth {worth:g}"
