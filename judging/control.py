"""A try that did nothing, slipped in among the real ones: a judge who prefers it cannot be believed.

It looks like the others: it begins with the same messages and has the same kinds of facts, all of them as
bad as they can be. It is judged with the group and never leaves here.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from gpu_worker.types import VERIFIABLE, Group, JudgeFailed, Message, Score, Trajectory

CREDIT = 0.2
"""Up to this score a judge says that a try is worthless; whoever else is as worthless does not matter."""
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxz", "aeiou"
GARBAGE_WORDS = (12, 40)


class ControlWon(JudgeFailed):
    """The judge preferred nothing to something."""


def with_control(group: Group, seed: str) -> Group:
    """The group with one try more, at its end: an empty one or, as `seed` has it, one of made-up words."""
    chance = random.Random(f"{seed}/control")
    said = "" if chance.random() < 0.5 else _garbage(chance)
    first = group.trajectories[0]
    control = Trajectory(
        scenario_id=group.scenario.id,
        index=len(group.trajectories),
        messages=(*_opening(first.messages), {"role": "assistant", "content": said}),
        segments=(),
        ended="answered",
        turns=1,
        scores=tuple(_failed(group.trajectories)),
    )
    return replace(group, trajectories=(*group.trajectories, control))


def without_control(scores: Sequence[Score]) -> list[Score]:
    """The real tries' scores. Raises ControlWon where the last one, the control's, is too good.

    That is: more than CREDIT, and as much as the best real try has or more than their median.
    """
    *real, control = scores
    values = [score.value for score in real]
    middle = median(values)
    if control.value > CREDIT and (control.value >= max(values) or control.value > middle):
        raise ControlWon(
            f"The judge gave a try that did nothing {control.value:.2f}; the real ones have {middle:.2f} in "
            f"the middle and {max(values):.2f} at best. Its scores for this group are not used."
        )
    return real


def _failed(trajectories: Sequence[Trajectory]) -> list[Score]:
    """No success, from every source that verifies the others."""
    sources = {score.source for one in trajectories for score in one.scores}
    return [Score(source, 0.0, "nothing of it was done") for source in VERIFIABLE if source in sources]


def _opening(messages: Sequence[Message]) -> list[Message]:
    """What stands before the agent says anything."""
    spoken = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    return list(messages[: spoken[0] if spoken else len(messages)])


def _garbage(chance: random.Random) -> str:
    def word() -> str:
        return "".join(
            chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(1, 4))
        )

    return " ".join(word() for _ in range(chance.randint(*GARBAGE_WORDS))).capitalize() + "."
