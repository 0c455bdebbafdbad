"""What tools may need from beyond the engine room, for tests."""

from collections.abc import Callable, Mapping, Sequence

from gpu_worker.types import Message, Outside, ToolError


def outside(
    secrets: Mapping[str, str] | None = None,
    ask: Callable[[str, Sequence[Message]], str] | None = None,
    programs: Mapping[str, tuple[str, ...]] | None = None,
) -> Outside:
    """Has what it is given and refuses the rest, as the real one does."""

    def secret(name: str) -> str:
        if name not in (secrets or {}):
            raise ToolError(f"there is no secret {name}")
        return (secrets or {})[name]

    def program(name: str) -> tuple[str, ...]:
        if name not in (programs or {}):
            raise ToolError(f"the operator does not allow a program {name}")
        return (programs or {})[name]

    def nobody(model: str, messages: Sequence[Message]) -> str:
        raise ToolError("there is no language model to ask")

    return Outside(secret=secret, ask=ask or nobody, programs=program)
