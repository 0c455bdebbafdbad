"""The one-word environment."""

import pytest

from gpu_worker.environments.yes_no_maybe import YesNoMaybe
from gpu_worker.types import Ended, Split, Trajectory

GAME = YesNoMaybe()
SPLITS: tuple[Split, ...] = ("train", "val", "test")


def reward_of(answer: str, ended: Ended = "answered") -> float:
    scenario = GAME.scenarios("train", 1, 0)[0]
    messages = (*scenario.messages, {"role": "assistant", "content": answer})
    return GAME.reward(scenario, Trajectory(scenario.id, 0, messages, (), ended)).value


@pytest.mark.parametrize(
    ("answer", "reward"),
    [("maybe", 1.0), ("Maybe.", 1.0), ("no, never", 0.75), ("'Yes'", 0.5), ("perhaps", 0.0), ("", 0.0)],
)
def test_the_first_word_is_what_counts(answer: str, reward: float) -> None:
    assert reward_of(answer) == reward


def test_an_unfinished_answer_is_worth_nothing() -> None:
    assert reward_of("maybe", "cut_off") == 0.0


def test_splits_share_no_prompt_and_are_large_enough_to_evaluate_on() -> None:
    made = {split: GAME.scenarios(split, 200, 0) for split in SPLITS}
    texts = [{s.messages[0]["content"] for s in made[split]} for split in SPLITS]
    assert [len(t) for t in texts] == [200, 200, 200]
    assert not (texts[0] & texts[1] or texts[0] & texts[2] or texts[1] & texts[2])
    assert made["test"] == GAME.scenarios("test", 200, 0)


def test_too_many_are_refused() -> None:
    with pytest.raises(ValueError, match="10000 were asked for"):
        GAME.scenarios("test", 10_000, 0)


def test_no_tools() -> None:
    assert GAME.tools(GAME.scenarios("val", 1, 0)[0]) == []
