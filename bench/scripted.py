"""The tool task of C2, the same for both sides: four turns of 32 tokens each, whatever they say.

After each of the first three turns a tool is called, and its answer is 32 tokens long, the template's own
tokens included; the fourth turn is the answer. Standard library only: the peer's environment reads it too.
"""

from __future__ import annotations

from bench import t6m

PROMPT_TOKENS = 400
SYSTEM_WORDS = 16
TURNS = 4
TURN_TOKENS = 32
RESULT_TOKENS = 32
SYSTEM = t6m.text(SYSTEM_WORDS, "scripted system")
RESULT = t6m.text(RESULT_TOKENS - 2 * t6m.TEMPLATE_TOKENS, "scripted result")
TOOL = "look"
TRY_TOKENS = PROMPT_TOKENS + TURNS * TURN_TOKENS + (TURNS - 1) * RESULT_TOKENS


def question(number: int) -> str:
    """The user's words of the `number`-th prompt."""
    words = PROMPT_TOKENS - SYSTEM_WORDS - 3 * t6m.TEMPLATE_TOKENS
    return t6m.text(words, f"scripted user {number}")


def look() -> str:
    """Look around.

    Returns:
        What is there.
    """
    return RESULT
