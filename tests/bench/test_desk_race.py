"""The race ends where it should, and what TRL played is judged as what we play is."""

from bench import desk_race
from bench.desk_race import Adapter, finish, is_over
from bench.sides.trl_desk_training import ending, reward_of
from gpu_worker.types import Scenario

ADAPTERS = [Adapter(step, 2.0 * step, f"{step}") for step in (1, 2, 3)]
CALL = {"type": "function", "function": {"name": "find_orders", "arguments": {}}}


def test_the_first_adapter_that_reaches_the_goal_wins_and_later_ones_are_not_examined() -> None:
    rewards = {1: 0.7, 2: 0.81}
    winner, results = finish(ADAPTERS, lambda adapter: rewards[adapter.step])
    assert winner == ADAPTERS[1]
    assert results == [(1, 0.7), (2, 0.81)]


def test_nobody_wins_below_the_goal() -> None:
    assert finish(ADAPTERS, lambda adapter: 0.79)[0] is None


def test_a_side_stops_when_it_is_surely_there_or_out_of_time() -> None:
    sure = [desk_race.SURE] * desk_race.SURE_STEPS
    assert is_over([0.1, *sure], 10, 100)
    assert not is_over([*sure[1:], 0.1], 10, 100)
    assert not is_over(sure[1:], 10, 100)
    assert is_over([0.1], 100, 100)


def test_why_a_try_of_the_peer_ended() -> None:
    answer = {"role": "assistant", "content": "It was shipped."}
    assert ending([answer], True) == "answered"
    assert ending([answer], False) == "cut_off"
    assert ending([{**answer, "tool_calls": [CALL]}], True) == "too_many_turns"
    assert ending([{**answer, "content": '<tool_call>{"name"'}], True) == "malformed_call"
    assert ending([{"role": "tool", "content": "no rows"}], True) == "cut_off"


def test_the_peer_is_rewarded_for_the_answer_and_for_its_evidence() -> None:
    scenario = Scenario(
        "one", "train", (), {"answer_has": [["shipped"]], "evidence": ["order_id: 7; status: shipped"]}
    )
    answer = {"role": "assistant", "content": "It was shipped."}
    looked_up = {"role": "tool", "name": "find_orders", "content": "order_id: 7; status: shipped"}
    called = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    assert reward_of(scenario, [called, looked_up, answer], True) == 1.0
    assert reward_of(scenario, [answer], True) == 0.5
