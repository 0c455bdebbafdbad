"""The demonstrations: dialogues in which an assistant looks things up in an invented world.

The demonstrator reads schemas and copies values without fault, but is careless on purpose (`Slips`):
it answers without looking, looks in the wrong place, stops half-way or reports the wrong field. A
model trained on this can do everything and does it unreliably, which is what reinforcement learning
can then be seen to mend.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_worker.engines.embedded.recipe import words
from gpu_worker.engines.embedded.recipe.tables import Column, Rng, Sheet, World, invent_world, made_up_value
from gpu_worker.types import Message, ToolSpec


@dataclass(frozen=True)
class Slips:
    """How often the demonstrator is careless, each a probability."""

    no_look: float = 0.08
    wrong_column: float = 0.10
    wrong_table: float = 0.06
    half_way: float = 0.12
    wrong_field: float = 0.25
    wrong_row: float = 0.25
    made_up: float = 0.30


CAREFUL = Slips(0, 0, 0, 0, 0, 0, 0)
CARELESS = Slips()


@dataclass(frozen=True)
class Dialogue:
    messages: list[Message]
    tools: tuple[ToolSpec, ...]


@dataclass(frozen=True)
class Hop:
    """Look `value` up in `column` of `sheet`."""

    sheet: Sheet
    column: Column
    value: str


@dataclass(frozen=True)
class Question:
    """What is asked, the look-ups that answer it, and the column of the last row that is the answer."""

    text: str
    hops: list[Hop]
    asked: Column
    row: int
    exists: bool = True


SYSTEM_PROMPTS = (
    "You work at the {thing} desk of a {shop}. Look it up, then answer.",
    "You answer questions for a {shop}. Look things up first.",
    "You help {people} of a {shop} with their {things}.",
    "Use the tools, then answer.",
    "You are the assistant of a {shop}. Answer from the tables.",
    "Answer questions about {things}. Look it up.",
    "You are a helpful assistant.",
    "Look it up, then answer.",
    "",
)
ASKED = {
    "state": (
        "where is {the_thing}",
        "where is {the_thing}",
        "what is the {column} of {the_thing}",
        "what happened to {the_thing}",
        "how is {the_thing} doing",
        "has {the_thing} been {state} yet",
        "is {the_thing} {state}",
        "I am waiting for {the_thing}, where is it",
        "tell me how {the_thing} is doing",
    ),
    "amount": (
        "what did {the_thing} cost",
        "how much was {the_thing}",
        "how much did I pay for {the_thing}",
        "how much is {the_thing}",
        "what was the {column} of {the_thing}",
        "what was the price of {the_thing}",
        "I need the {column} for {the_thing}",
        "what was the total of {the_thing}",
    ),
    "day": (
        "when was {the_thing}",
        "when is {the_thing}",
        "what is the date of {the_thing}",
        "on which day was {the_thing}",
    ),
    "kind": (
        "what {column} is {the_thing}",
        "which {column} is {the_thing}",
        "what {column} was {the_thing}",
    ),
    "place": ("which {column} is {the_thing} in", "in which {column} is {the_thing}"),
    "name": (
        "who is {the_thing}",
        "what is the name of {the_thing}",
        "what is the name on {the_thing}",
    ),
    "alias": ("how do I reach {the_thing}", "which {column} has {the_thing}"),
}
ANY_COLUMN = (
    "what is the {column} of {the_thing}",
    "tell me the {column} of {the_thing}",
    "I need the {column} for {the_thing}",
    "{column} of {the_thing}",
    "give me the {column} of {the_thing}",
    "which {column} does {the_thing} have",
)
WHOSE = (
    "who is {the_thing} for",
    "who is {the_thing} {state} to",
    "who gets {the_thing}",
    "who will get {the_thing}",
    "which {person} gets {the_thing}",
    "which {person} has {the_thing}",
    "whose {thing} is {id}",
    "who has {the_thing}",
    "what is the name on {the_thing}",
    "what is the name of the {person} for {the_thing}",
    "who placed {the_thing}",
    "who made {the_thing}",
    "who ordered {id}",
    "who will receive {the_thing}",
    "tell me the name of the {person} of {the_thing}",
)
LATEST = (
    "what is the latest {thing} of {alias}",
    "which {thing} did {alias} make last",
    "which {thing} did {alias} place last",
    "find the newest {thing} for {alias}",
    "I am {alias}. what was my last {thing}",
    "I am {alias}, what is my latest {thing}",
    "my {column} is {alias}, what is the number of my latest {thing}",
    "my {column} is {alias}. which {thing} is my newest",
    "give me the most recent {thing} of {alias}",
    "most recent {thing} of {alias}",
    "latest {thing} for {alias}",
)
BEFORE = (
    "",
    "",
    "",
    "hi, ",
    "hello, ",
    "can you tell me ",
    "please tell me ",
    "I want to know ",
    "quick question: ",
)
SAYS = ("The {column} is {value}.",) * 6 + ("{value}.", "It is {value}.", "That is {value}.")
NOT_THERE = (
    "I could not find it.",
    "There is no such {noun}.",
    "I could not find {value}.",
    "{value} was not found.",
)
SMALL_TALK = (
    (("hello", "hi", "good morning", "hey there", "hi, are you there"), "Hello! What can I look up for you?"),
    (("thanks", "thank you", "great, thanks", "thanks a lot"), "You are welcome."),
    (("who are you", "what are you", "are you a human"), "I am a small model that looks things up."),
    (("bye", "goodbye", "see you"), "Goodbye!"),
    (
        ("what is the capital of {town}", "tell me a joke", "write a poem", "what is the weather in {town}"),
        "I do not know. I can only look things up.",
    ),
)  # fmt: skip
ONE_WORD_ASKED = (
    *("respond with", "just respond with", "please respond with", "reply with", "please reply with"),
    *("answer with", "just answer with", "please answer with"),
    *("say", "just say", "please say", "choose", "pick one:"),
)
ONE_WORD_SYSTEM = ("Answer with one word.", "One word only.", "Reply with one word.", "")
OTHER_WORDS = "up down left right red blue in out on off hot cold true false"
ONE_WORDS = tuple(f"yes no maybe yes no maybe {OTHER_WORDS}".split())


def write_dialogue(rng: Rng, slips: Slips = CARELESS) -> Dialogue:
    """One demonstration."""
    kind = rng.random()
    if kind < 0.06:
        return _one_word(rng)
    if kind < 0.09:
        return _small_talk(rng)
    if kind < 0.12:
        return _said_again(rng)
    return _errand(rng, slips)


def _one_word(rng: Rng) -> Dialogue:
    """ "Answer with yes, no or maybe": any of the words will do."""
    pool = ("yes", "no", "maybe") if rng.random() < 0.5 else rng.sample(ONE_WORDS, 6)
    choices = rng.sample(list(dict.fromkeys(pool)), rng.choice((2, 3)))
    quote = rng.choice(("", "", "'", '"'))
    listed = [f"{quote}{choice}{quote}" for choice in choices]
    text = f"{rng.choice(ONE_WORD_ASKED)} {', '.join(listed[:-1])} or {listed[-1]}"
    text += rng.choice(("", "", " please", ".", " only"))
    return _plain(rng, text, rng.choice(choices), rng.choice(ONE_WORD_SYSTEM))


def _small_talk(rng: Rng) -> Dialogue:
    asked, answer = rng.choice(SMALL_TALK)
    text = rng.choice(asked).format(town=rng.choice(words.TOWNS)) + rng.choice(("", "!", "?", "."))
    if rng.random() < 0.3:
        return _plain(rng, _sentence(rng, text), answer, "You are a helpful assistant.")
    world = invent_world(rng)
    messages = [*_system(rng, world), {"role": "user", "content": _sentence(rng, text)}]
    return Dialogue([*messages, {"role": "assistant", "content": answer}], world.tools)


def _said_again(rng: Rng) -> Dialogue:
    """Copying in its purest form."""
    pieces = [words.invented(rng), words.digits(rng, 4), words.name(rng, words.TOWNS), words.digits(rng, 3)]
    said = " ".join(rng.choice(pieces) for _ in range(rng.randint(1, 5)))
    return _plain(rng, f"{rng.choice(('say', 'repeat', 'say again'))}: {said}", said, "")


def _plain(rng: Rng, text: str, answer: str, system: str) -> Dialogue:
    first: list[Message] = [{"role": "system", "content": system}] if system else []
    turns: list[Message] = [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
    return Dialogue([*first, *turns], ())


def _errand(rng: Rng, slips: Slips) -> Dialogue:
    """One question about a world, sometimes two."""
    world = invent_world(rng)
    messages = _system(rng, world)
    for _ in range(2 if rng.random() < 0.06 else 1):
        question = _ask(rng, world)
        messages.append({"role": "user", "content": question.text})
        messages += _demonstrate(rng, world, question, slips)
    return Dialogue(messages, world.tools)


def _system(rng: Rng, world: World) -> list[Message]:
    text = rng.choice(SYSTEM_PROMPTS).format(
        thing=world.things.noun,
        things=words.plural(world.things.noun),
        people=words.plural(world.people.noun),
        shop=rng.choice(words.SHOPS),
    )
    return [{"role": "system", "content": text}] if text else []


def _sentence(rng: Rng, text: str) -> str:
    return text[0].upper() + text[1:] if rng.random() < 0.75 else text


def _worded(rng: Rng, text: str) -> str:
    end = rng.choice(("?", "?", "?", ".", ""))
    return _sentence(rng, rng.choice(BEFORE) + text) + end


def _ask(rng: Rng, world: World) -> Question:
    kind = rng.random()
    if kind < 0.34:
        question = _about_a_row(rng, world.things, "id")
    elif kind < 0.42:
        question = _about_a_row(rng, world.people, rng.choice(("alias", "id", "name")))
    elif kind < 0.74:
        question = _about_an_owner(rng, world)
    else:
        question = _about_the_latest(rng, world)
    return _in_vain(rng, question) if rng.random() < 0.2 else question


def _about_a_row(rng: Rng, sheet: Sheet, by: str) -> Question:
    key = sheet.column(by)
    asked = rng.choice([column for column in sheet.fields() if column is not key])
    at = rng.randrange(len(key.values))
    forms = ASKED.get(asked.meaning, ()) if by == "id" and rng.random() < 0.75 else ()
    text = rng.choice(forms or ANY_COLUMN)
    known = by != "id" and rng.random() < 0.6
    mine = rng.choice(("my ", "", "", "the ")) if by == "id" else ""
    the_thing = key.values[at] if known else f"{mine}{sheet.noun} {key.values[at]}"
    text = text.format(column=_said(asked.name), the_thing=the_thing, state=rng.choice(words.STATES))
    return Question(_worded(rng, text), [Hop(sheet, key, key.values[at])], asked, 0)


def _about_an_owner(rng: Rng, world: World) -> Question:
    things, people = world.things, world.people
    at = rng.randrange(len(things.column("id").values))
    number, owner = things.column("id").values[at], things.column("ref").values[at]
    hops = [Hop(things, things.column("id"), number), Hop(people, people.column("id"), owner)]
    names = {
        "thing": things.noun,
        "person": people.noun,
        "id": number,
        "the_thing": f"{things.noun} {number}",
    }
    if rng.random() < 0.75:
        text, asked = rng.choice(WHOSE), people.column("name")
    else:
        asked = rng.choice(people.fields())
        text = rng.choice(ANY_COLUMN).replace("{the_thing}", "the {person} of {the_thing}")
    text = text.format(column=_said(asked.name), state=rng.choice(words.STATES), **names)
    return Question(_worded(rng, text), hops, asked, 0)


def _about_the_latest(rng: Rng, world: World) -> Question:
    things, people = world.things, world.people
    key = people.column("alias")
    at = rng.choice(
        [at for at, id in enumerate(people.column("id").values) if id in things.column("ref").values]
    )
    hops = [
        Hop(people, key, key.values[at]),
        Hop(things, things.column("ref"), people.column("id").values[at]),
    ]
    text = rng.choice(LATEST).format(thing=things.noun, alias=key.values[at], column=_said(key.name))
    return Question(_worded(rng, text), hops, things.column("id"), 0)


def _said(column: str) -> str:
    return column.replace("_", " ")


def _in_vain(rng: Rng, question: Question) -> Question:
    """The same question about something that is not there."""
    hop = question.hops[0]
    unknown = _like(rng, hop)
    while unknown in hop.column.values:
        unknown = _like(rng, hop)
    text = question.text.replace(hop.value, unknown)
    return Question(text, [Hop(hop.sheet, hop.column, unknown)], question.asked, 0, exists=False)


def _like(rng: Rng, hop: Hop) -> str:
    """A value of the same form: other digits, or another address."""
    if any(letter.isdigit() for letter in hop.value):
        return "".join(rng.choice("123456789") if letter.isdigit() else letter for letter in hop.value)
    return made_up_value(rng, hop.column.meaning)


def _demonstrate(rng: Rng, world: World, question: Question, slips: Slips) -> list[Message]:
    """The look-ups and the answer, as careless as `slips` says."""
    if rng.random() < slips.no_look:
        return [_groundless(rng, question, question.hops[0])]
    messages: list[Message] = []
    for at, hop in enumerate(question.hops):
        taken = _maybe_astray(rng, world, hop, slips)
        messages += _look_up(world, taken)
        rows = taken.sheet.table().find(taken.column.name, taken.value)
        if not rows:
            return [*messages, _not_there(rng, question, taken, slips)]
        astray = taken != hop or (at + 1 < len(question.hops) and rng.random() < slips.half_way)
        if astray or at + 1 == len(question.hops):
            return [*messages, _report(rng, question, taken, astray, slips)]
    raise AssertionError("a question has at least one hop")


def _maybe_astray(rng: Rng, world: World, hop: Hop, slips: Slips) -> Hop:
    """The right look-up, or the right value in another column or another table."""
    if rng.random() < slips.wrong_table:
        other = world.people if hop.sheet is world.things else world.things
        return Hop(other, rng.choice(other.columns), hop.value)
    if rng.random() < slips.wrong_column:
        return Hop(hop.sheet, rng.choice([c for c in hop.sheet.columns if c is not hop.column]), hop.value)
    return hop


def _look_up(world: World, hop: Hop) -> list[Message]:
    name, arguments = world.call(hop.sheet, hop.column.name, hop.value)
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": world.answer(hop.sheet, hop.column.name, hop.value)},
    ]


def _report(rng: Rng, question: Question, hop: Hop, astray: bool, slips: Slips) -> Message:
    """The asked column of the right row, or something else the last look-up showed."""
    hits = [at for at, value in enumerate(hop.column.values) if value == hop.value]
    row = rng.choice(hits) if rng.random() < slips.wrong_row else hits[question.row]
    columns = [column for column in hop.sheet.columns if column is not hop.column]
    wrong = astray or rng.random() < slips.wrong_field
    column = rng.choice(columns) if wrong else question.asked
    return _reply(rng, column, column.values[row])


def _reply(rng: Rng, column: Column, value: str) -> Message:
    text = rng.choice(SAYS).format(column=_said(column.name), value=value)
    return {"role": "assistant", "content": text}


def _not_there(rng: Rng, question: Question, hop: Hop, slips: Slips) -> Message:
    if rng.random() < slips.made_up:
        return _reply(rng, question.asked, hop.value)
    text = rng.choice(NOT_THERE).format(noun=hop.sheet.noun, value=hop.value)
    return {"role": "assistant", "content": text}


def _groundless(rng: Rng, question: Question, hop: Hop) -> Message:
    """An answer without any look-up: what was asked about, said back, or that it is not there."""
    if rng.random() < 0.5:
        return _reply(rng, question.asked, hop.value)
    text = rng.choice(NOT_THERE).format(noun=hop.sheet.noun, value=hop.value)
    return {"role": "assistant", "content": text}
