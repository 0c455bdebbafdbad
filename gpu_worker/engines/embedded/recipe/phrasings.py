"""How people ask about a register: the English around its own column names, nouns and values."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from gpu_worker.engines.embedded.recipe.words import listed

Rng = random.Random

SYSTEM = (
    "You answer questions about {nouns}.",
    "Answer questions about {title}.",
    "You help people find things in the table {title}.",
    "You are a helpful assistant.",
    "You work with a table of {nouns}.",
    "You are the assistant of {word}.",
    "You know the list of {nouns} of a company.",
    "You answer questions from a table that a person uploaded.",
    "Your task is to answer questions about {nouns} for {word}.",
)
ORDERS = (
    "Use the tools, then answer.",
    "Look it up, then answer.",
    "Look things up first.",
    "Answer from the table.",
    "Say so if there is no such row.",
    "Answer in one sentence.",
    "Never guess.",
    "Look up every row you need before you answer.",
    "Name the column and the value.",
    "If nothing is found, say that you could not find it.",
    "Say only what the tools gave back.",
    "Be short and exact.",
    "The columns are {word}, {word} and more.",
    "People ask about {word} and {nouns}.",
)
LOOKING = (
    *("{noun} {key}",) * 6,
    *("{key}",) * 3,
    "the {noun} {key}",
    "{noun} number {key}",
    "{noun} “{key}”",
    '{noun} "{key}"',
    "the {noun} with {key_column} {key}",
    "the row with {key_column} {key}",
    "{key_column} {key}",
    "the {noun} whose {key_column} is {key}",
)
NAMING = (
    *("the {noun} with {column} {value}", "the {noun} with {column} {value}"),
    *("the {noun} whose {column} is {value}", "the one with {column} {value}"),
    *("the row with {column} {value}", "the {noun} that has {column} {value}"),
    *("the {noun} having {value} as {column}", "{column} {value}", "the {noun} where {column} is {value}"),
)
BY_NAME = (
    *("what is the {column} of {the_row}", "what is the {column} of {the_row}"),
    *("tell me the {column} of {the_row}", "give me the {column} of {the_row}"),
    *(
        "I need the {column} of {the_row}",
        "which {column} has {the_row}",
        "what's the {column} for {the_row}",
    ),
    *("for {the_row}, what is the {column}", "look up the {column} of {the_row}"),
    *(
        "{the_row}: what is the {column}",
        "what {column} does {the_row} have",
        "show me {column} of {the_row}",
    ),
)
ASKING: dict[str, tuple[str, ...]] = {
    "single": (
        "what is the {column} of {the_row}",
        "what is the {column} of {the_row}",
        "what's the {column} of {the_row}",
        "what is the {column} for {the_row}",
        "tell me the {column} of {the_row}",
        "give me the {column} of {the_row}",
        "I need the {column} of {the_row}",
        "look up the {column} of {the_row}",
        "find the {column} of {the_row}",
        "{column} of {the_row}",
        "{the_row}: what is the {column}",
        "{the_row}, what {column} is it",
        "for {the_row}, what is the {column}",
        "which {column} does {the_row} have",
        "what {column} does {the_row} have",
        "which {column} is listed for {the_row}",
        "what does it say under {column} for {the_row}",
        "check {the_row} and give me its {column}",
        "show me {column} for {the_row}",
        "do you know the {column} of {the_row}",
        "I am looking at {the_row}. what is its {column}",
        "what value does {column} have for {the_row}",
        "when {key_column} is {key}, what is {column}",
        "what was the {column} of {the_row}",
        "how is {column} set for {the_row}",
        "in the row of {the_row}, what stands under {column}",
    ),
    "filter": (
        "which {noun} has {column1} {value1} and {column2} {value2}",
        "which {noun} has {column1} {value1} and {column2} {value2}",
        "which {noun} with {column1} {value1} has {column2} {value2}",
        "find the {noun} with {column1} {value1} and {column2} {value2}",
        "what is the {key_column} of the {noun} with {column1} {value1} and {column2} {value2}",
        "{column1} is {value1} and {column2} is {value2}. which {noun} is it",
        "I am looking for the {noun} whose {column1} is {value1} and whose {column2} is {value2}",
        "among those with {column1} {value1}, which has {column2} {value2}",
        "of all {noun} with {column1} {value1}, which one has {column2} {value2}",
        "name the {noun} that has {column1} {value1} and {column2} {value2}",
        "who or what has {column1} = {value1} and {column2} = {value2}",
        "which one has {column1} {value1} together with {column2} {value2}",
        "where {column1} is {value1}, which {noun} shows {column2} {value2}",
        "give me the {key_column} where {column1} is {value1} and {column2} is {value2}",
        "which {noun} matches {column1}: {value1} and {column2}: {value2}",
        "there is one {noun} with {column1} {value1} and {column2} {value2}, which is it",
    ),
    "count": (
        "how many {nouns} have {column} {value}",
        "how many {nouns} have {column} {value}",
        "how many {nouns} are there with {column} {value}",
        "count the {nouns} with {column} {value}",
        "count the {nouns} whose {column} is {value}",
        "what is the number of {nouns} with {column} {value}",
        "number of {nouns} with {column} {value}",
        "in how many {nouns} is the {column} {value}",
        "for how many {nouns} is {column} {value}",
        "how often does {column} {value} occur",
        "how often is {value} the {column}",
        "how many times is the {column} {value}",
        "how many with {column} {value} are in the table",
        "tell me how many {nouns} have {value} as {column}",
        "how many rows say {value} under {column}",
    ),
    "compare": (
        "which has the {more} {column}, {key1} or {key2}",
        "which has the {more} {column}, {key1} or {key2}",
        "which {noun} has the {more} {column}, {key1} or {key2}",
        "who has the {more} {column}: {key1} or {key2}",
        "is the {column} {more} for {key1} or for {key2}",
        "compare {key1} and {key2}: which has the {more} {column}",
        "between {key1} and {key2}, which has the {more} {column}",
        "of {key1} and {key2}, which one has the {more} {column}",
        "{key1} or {key2}: which has the {more} {column}",
        "whose {column} is {more}, {key1} or {key2}",
        "which of {key1} and {key2} has the {more} {column}",
        "does {noun} {key1} or {noun} {key2} have the {more} {column}",
        "take {noun} {key1} and {noun} {key2}. whose {column} is {more}",
        "which one is {more} in {column}, {key1} or {key2}",
        "look at {key1} and {key2} and name the one with the {more} {column}",
    ),
    "two_hop": (
        "what is the {column} of the {noun} with the same {column2} as {the_row}",
        "what is the {column} of the {noun} with the same {column2} as {key}",
        "what is the {column} of the other {noun} with the same {column2} as {key}",
        "which {column} does the {noun} have that shares its {column2} with {key}",
        "{the_row} shares its {column2} with another {noun}. what is the {column} of that one",
        "another {noun} has the same {column2} as {key}, what is its {column}",
        "find the {noun} that has the same {column2} as {the_row} and tell me its {column}",
        "look up the {column2} of {key}. which {column} has the other {noun} with it",
        "who else has the {column2} of {the_row}, and what is the {column} there",
        "give me the {column} of the other one with the {column2} of {the_row}",
        "tell me the {column} of the {noun} whose {column2} is that of {key}",
        "besides {key} one {noun} has the same {column2}: what is its {column}",
        "the {column2} of {the_row} occurs once more. what is the {column} in that row",
        "starting from {key}, find the one with equal {column2} and give its {column}",
    ),
    "across": (
        "what is the {column} of the {noun2} of {the_row}",
        "what is the {column} of the {noun2} that belongs to {the_row}",
        "tell me the {column} of the {noun2} for {the_row}",
        "which {column} does the {noun2} of {the_row} have",
        "for {the_row}, what is the {column} of its {noun2}",
        "find the {noun2} of {the_row} and give me its {column}",
        "{the_row} has a {noun2}. what is the {column}",
        "what {column} has the {noun2} behind {the_row}",
    ),
}
BEFORE = (
    *("",) * 9,
    *("hi, ", "hello, ", "please: ", "quick question: ", "can you tell me ", "I want to know: ", "tell me, "),
    *("hi! ", "sorry, ", "I would like to know ", "could you check: ", "one more: ", "thanks. "),
    "for my report: ",
)  # fmt: skip
ENDS = ("?", "?", "?", "?", ".", "", "? thanks", ", please?", "? I am in a hurry.")


QUOTES = ("“{}”", '"{}"', "'{}'", "‘{}’", "「{}」")


OPENINGS = (
    *("Hi.", "Hello!", "Hello there.", "Good evening.", "Dear assistant,", "Morning!", "Excuse me.", "Hey,"),
    *(
        "I need your help.",
        "I have a small request.",
        "Here is what I want to know.",
        "Next question.",
        "Now this:",
    ),
    *("A customer is on the phone.", "My boss is asking.", "We are checking our data.", "Just to be sure:"),
    *("Please help me with this.", "Let me ask you something.", "I cannot open the file myself.", "So,"),
    *("First of all:", "Another thing.", "It is me again.", "Would you look this up?", "Okay.", "Well,"),
)
CLOSINGS = (
    *(
        "Thanks a lot.",
        "Many thanks!",
        "Thank you in advance.",
        "That is all.",
        "Please be quick.",
        "Cheers.",
    ),
    *("I need it for a mail.", "It is urgent.", "We need it today.", "Somebody is waiting for it.", "Bye."),
    *("Say just the value.", "Give only the name.", "One answer is enough.", "Only this one, please."),
    *("Do not explain.", "Keep it short.", "A single word will do.", "Tell me that and nothing else."),
    *("I will write it down.", "Take your time.", "It does not matter why.", "I could not see it myself."),
    *("Then we are done.", "You would help me a lot.", "The rest I know already.", "Let me know.", "Right?"),
)
FILLERS = listed("""
    the a this that our my your new old big small team office plan week list paper file day people work
    we you they I it is was will can must should need want see know ask write send keep give take find
    only one just name number value thing answer please two same other which what both either first
    for with from about before after today tomorrow now later again soon here there and but so because
""")


def surrounded(rng: Rng, text: str) -> str:
    """The question as people really write: with sentences before and after it that do not matter."""
    text = rng.choice(BEFORE) + text if rng.random() < 0.3 else text
    if rng.random() < 0.85:
        text = text[0].upper() + text[1:]
    text += rng.choice(("?", "?", "?", ".", ".", "", "!"))
    if rng.random() < 0.3:
        text = f"{_aside(rng, OPENINGS)} {text}"
    if rng.random() < 0.4:
        text = f"{text} {_aside(rng, CLOSINGS)}"
    return text


def _aside(rng: Rng, known: Sequence[str]) -> str:
    """A sentence beside the matter: one of those known, or words in any order."""
    if rng.random() < 0.6:
        return rng.choice(known)
    text = " ".join(rng.choice(FILLERS) for _ in range(rng.randint(2, 7)))
    return text[0].upper() + text[1:] + rng.choice(".!.")


def said(rng: Rng, column: str) -> str:
    """A column's name in a question: mostly as it is, sometimes with spaces for underscores, or in quotes."""
    text = column.replace("_", " ") if rng.random() < 0.3 else column
    return quoted(rng, text)


def quoted(rng: Rng, value: str) -> str:
    """A value in a question, now and then in quotes."""
    return rng.choice(QUOTES).format(value) if rng.random() < 0.07 else value


def told(rng: Rng, nouns: str, title: str, word: Callable[[], str]) -> str:
    """What the agent is told first: often one or two sentences, now and then many or none."""
    count = rng.choices((0, 1, 2, 3, 5), (1, 5, 5, 2, 1))[0]
    sentences = [rng.choice(SYSTEM if rng.random() < 0.6 else ORDERS)] if count else []
    sentences += rng.sample(ORDERS, max(0, count - 1))
    return " ".join(
        sentence.format(nouns=nouns, title=title, word=_Word(word)) for sentence in dict.fromkeys(sentences)
    )


class _Word:
    """Another word every time it is written."""

    def __init__(self, make: Callable[[], str]) -> None:
        self.make = make

    def __format__(self, form: str) -> str:
        return self.make()


def opened(rng: Rng, text: str) -> str:
    """The question with what people put before and after it."""
    text = rng.choice(BEFORE) + text
    if rng.random() < 0.8:
        text = text[0].upper() + text[1:]
    return text + rng.choice(ENDS)
