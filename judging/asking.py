"""Asking a language model from a plain function, as tools do in threads of their own.

All questions go through one loop, so that a model's connections and its limit of questions at once are shared
by all tries, and none is left open when a call ends.
"""

from collections.abc import Callable, Sequence

from gpu_worker.tools import aside
from gpu_worker.types import Message, ToolError
from judging.access import Access
from judging.llm import Model, NoAnswer
from judging.spending import Purse

PATIENCE = 600.0
"""Seconds for an answer, every further attempt included."""


def asking(
    purse: Purse, *, access: Callable[[str], Access] = Access
) -> Callable[[str, Sequence[Message]], str]:
    """What Outside.ask is: (model name, messages) → answer, paid from `purse`. Blocks its thread.

    `access` says how a model is reached, by its name; it is asked once, in whatever process a tool is called.

    It raises ToolError where the model does not answer, and passes on what no further question would
    survive: llm.Refused and spending.BudgetSpent.
    """

    async def answered(name: str, messages: Sequence[Message]) -> str:
        key = ("model", purse, access, name)
        if key not in aside.shared:
            aside.shared[key] = Model(access(name), purse=purse)
        model: Model = aside.shared[key]
        return await model.complete(messages)

    def ask(name: str, messages: Sequence[Message]) -> str:
        try:
            return aside.wait_for(answered(name, messages), PATIENCE)
        except (NoAnswer, TimeoutError) as silent:
            raise ToolError(str(silent) or f"{name} did not answer in time") from silent

    return ask
