"""RULER: an LLM scores the tries of one group against each other, and each score reaches its own try.

The model is asked once; an answer that cannot be used is sent back to be mended once; then the question is
put afresh once, with new ids in a new order; then the group is given up (JudgeFailed) and the loop counts
it. Prompt and answer are prompt.py's and answers.py's business.
"""

from gpu_worker.types import Group, JudgeFailed, Message, Score
from judging.answers import LONGEST_EXPLANATION, BadAnswer, Verdicts, read_answer
from judging.llm import Model, NoAnswer
from judging.prompt import SCHEMA, Prompt, compose
from judging.rubric import DEFAULT

ROUNDS = 2
"""How often the whole question is put; each time with one chance to mend the answer."""
SENT_BACK = 20_000
"""Characters of a bad answer that its author is shown again."""


async def ruler(group: Group, *, model: Model, rubric: str = "", seed: str = "") -> list[Score]:
    """A score for each trajectory, in order. Identical tries are judged once. Raises JudgeFailed.

    Same group and same seed: same prompt to the letter. May also raise llm.Refused, which no further
    group would survive (a wrong key, an unknown model).
    """
    if not group.trajectories:
        return []
    problem = ""
    for question in range(ROUNDS):
        prompt = compose(group, rubric or DEFAULT, f"{seed}/{question}")
        try:
            return _spread(await _verdicts(model, prompt), prompt, len(group.trajectories))
        except BadAnswer as error:
            problem = f"The judge's answer could not be used: {error}."
        except NoAnswer as error:
            raise JudgeFailed(str(error)) from error
    raise JudgeFailed(problem)


async def _verdicts(model: Model, prompt: Prompt) -> Verdicts:
    text = await model.ask(prompt.messages, SCHEMA)
    try:
        return read_answer(text, prompt.members)
    except BadAnswer as error:
        mended = await model.ask([*prompt.messages, *_send_back(text, str(error))], SCHEMA)
        return read_answer(mended, prompt.members)


def _send_back(text: str, problem: str) -> list[Message]:
    return [
        {"role": "assistant", "content": text[:SENT_BACK] or "(empty)"},
        {
            "role": "user",
            "content": f"That answer cannot be used: {problem[:LONGEST_EXPLANATION]}. "
            "Write it again: only the JSON, every id exactly once, every score a number between 0 and 1.",
        },
    ]


def _spread(verdicts: Verdicts, prompt: Prompt, count: int) -> list[Score]:
    """Hand each verdict to all tries behind its id."""
    scores = [Score("ruler", 0.0)] * count
    for try_id, positions in prompt.members.items():
        value, explanation = verdicts[try_id]
        for position in positions:
            scores[position] = Score("ruler", value, explanation)
    return scores
