"""Demonstrations of answering questions about a register: look up, count, compare, go on, and say it.

The demonstrator reads without fault, and is as careless as `Blunders` says: it uses another tool, another
column, only half of the look-ups, another row or field. What is asked is written in `inquiries`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from gpu_worker.engines.embedded.recipe.dialogues import NOT_THERE, Dialogue, Slips, write_dialogue
from gpu_worker.engines.embedded.recipe.inquiries import Inquiry, Look, some_inquiry
from gpu_worker.engines.embedded.recipe.phrasings import opened, surrounded, told
from gpu_worker.engines.embedded.recipe.registers import Desk, Register
from gpu_worker.engines.embedded.recipe.scripts import some_script, word_in
from gpu_worker.types import Message

Rng = random.Random


@dataclass(frozen=True)
class Blunders:
    """How often the demonstrator is careless with a register, each a probability."""

    no_look: float = 0.07
    other_tool: float = 0.07
    wrong_column: float = 0.07
    half_way: float = 0.22
    wrong_field: float = 0.22
    wrong_row: float = 0.30
    made_up: float = 0.30


FAULTLESS = Blunders(0, 0, 0, 0, 0, 0, 0)
BLUNDERING = Blunders()


def write_inquiry(rng: Rng, blunders: Blunders = BLUNDERING, freely: bool = False) -> Dialogue:
    """One dialogue about an invented register, sometimes of two questions."""
    desk, inquiry = some_inquiry(rng, freely)
    first = desk.registers[0]
    script = some_script(rng)
    system = told(rng, first.nouns, first.title, lambda: word_in(rng, script))
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    asked = (surrounded if freely else opened)(rng, inquiry.text)
    messages.append({"role": "user", "content": asked})
    return Dialogue([*messages, *demonstrated(rng, desk, inquiry, blunders)], desk.tools)


def write_practice(rng: Rng, slips: Slips, blunders: Blunders, freely: bool) -> Dialogue:
    """What the second stage reads: registers, the desks of the first stage, and saying again.

    Asked `freely`, questions come with sentences that do not matter, and rows are named in more ways.
    """
    desks, again = (0.26, 0.30) if freely else (0.34, 0.41)
    kind = rng.random()
    if kind < desks:
        return write_dialogue(rng, slips)
    return _said_again(rng) if kind < again else write_inquiry(rng, blunders, freely)


def _said_again(rng: Rng) -> Dialogue:
    """Words of any script, to be copied."""
    script = some_script(rng)
    pieces = [
        word_in(rng, script if rng.random() < 0.8 else some_script(rng)) for _ in range(rng.randint(1, 5))
    ]
    pieces += [rng.choice(pieces) for _ in range(rng.randint(0, 3))]
    said_before = rng.choice((" ", " ", ", ")).join(pieces)
    asked: Message = {
        "role": "user",
        "content": f"{rng.choice(('say', 'repeat', 'say again'))}: {said_before}",
    }
    return Dialogue([asked, {"role": "assistant", "content": said_before}], ())


def demonstrated(rng: Rng, desk: Desk, inquiry: Inquiry, blunders: Blunders) -> list[Message]:
    """The calls and the answer, as careless as `blunders` says."""
    if rng.random() < blunders.no_look:
        return [_groundless(rng, inquiry)]
    messages: list[Message] = []
    for at, look in enumerate(inquiry.looks):
        taken = _maybe_astray(rng, desk, look, blunders)
        result, rows = _result(taken, inquiry)
        messages += _called(desk, taken, result)
        if taken.tool == "count":
            return [*messages, _answered(rng, "count", result.removeprefix("count: "))]
        if not rows:
            return [*messages, _not_there(rng, inquiry, taken, blunders)]
        if taken != look:
            return [*messages, _any_field(rng, taken.register, rows)]
        if at + 1 < len(inquiry.looks) and rng.random() < blunders.half_way:
            return [*messages, _hasty(rng, inquiry, taken.register, rows)]
    return [*messages, _reported(rng, inquiry, taken.register, rows, blunders)]


def _maybe_astray(rng: Rng, desk: Desk, look: Look, blunders: Blunders) -> Look:
    if rng.random() < blunders.other_tool:
        others = [kind for kind, title in desk.names if title == look.register.title and kind != look.tool]
        return Look(rng.choice(others), look.register, look.column, look.value)
    if rng.random() < blunders.wrong_column and len(look.register.looked_up) > 1:
        columns = [column for column in look.register.looked_up if column is not look.column]
        return Look(look.tool, look.register, rng.choice(columns), look.value)
    return look


def _result(look: Look, inquiry: Inquiry) -> tuple[str, list[int]]:
    """What the tool says, and the rows behind it."""
    rows = look.register.rows(look.column, look.value)
    if look.tool == "count":
        meant = look == inquiry.looks[0] and inquiry.count is not None
        return f"count: {inquiry.count if meant else len(rows)}", rows
    return look.register.found(rows), rows


def _called(desk: Desk, look: Look, result: str) -> list[Message]:
    column, value, words = desk.arguments
    arguments = (
        {words: look.value} if look.tool == "search" else {column: look.column.name, value: look.value}
    )
    function = {"name": desk.names[look.tool, look.register.title], "arguments": arguments}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]},
        {"role": "tool", "content": result},
    ]


SAYS = ("The {column} is {value}.",) * 8 + ("{value}.", "It is {value}.")


def _answered(rng: Rng, column: str, value: str) -> Message:
    return {"role": "assistant", "content": rng.choice(SAYS).format(column=column, value=value)}


def _reported(rng: Rng, inquiry: Inquiry, register: Register, rows: list[int], blunders: Blunders) -> Message:
    """The asked column of the right row, or of one that was also looked at, or another column."""
    row = inquiry.answer_row
    assert row is not None
    if inquiry.others and rng.random() < blunders.wrong_row:
        row = rng.choice(inquiry.others)
    if rng.random() < blunders.wrong_field:
        return _any_field(rng, register, [row])
    return _answered(rng, inquiry.asked.name, inquiry.asked.values[row])


def _hasty(rng: Rng, inquiry: Inquiry, register: Register, rows: list[int]) -> Message:
    """After half of the look-ups: the asked column, if this row has it, or another one."""
    if inquiry.asked in register.columns and rng.random() < 0.6:
        return _answered(rng, inquiry.asked.name, inquiry.asked.values[rows[0]])
    return _any_field(rng, register, rows)


def _any_field(rng: Rng, register: Register, rows: list[int]) -> Message:
    column = rng.choice(register.shown)
    return _answered(rng, column.name, column.values[rng.choice(rows[:5])])


def _not_there(rng: Rng, inquiry: Inquiry, look: Look, blunders: Blunders) -> Message:
    if rng.random() < blunders.made_up:
        return _answered(rng, inquiry.asked.name, look.value)
    text = rng.choice(NOT_THERE).format(noun=look.register.noun, value=look.value)
    return {"role": "assistant", "content": text}


def _groundless(rng: Rng, inquiry: Inquiry) -> Message:
    """An answer without any look-up."""
    look = inquiry.looks[0]
    if rng.random() < 0.6:
        return _answered(rng, inquiry.asked.name, look.value)
    return {
        "role": "assistant",
        "content": rng.choice(NOT_THERE).format(noun=look.register.noun, value=look.value),
    }
