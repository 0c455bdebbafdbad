"""How people ask in English, around the column names, nouns and values of their own table.

`{row}` is one row as `ROWS` names it; `{noun}` and `{nouns}` are what its rows are called. `wording` fills
the forms in; the Chinese ones are in `phrasings_zh`.
"""

from collections.abc import Mapping

ROWS = (
    "{noun} {key}",
    "{noun} {key}",
    "{noun} {key}",
    "the {noun} {key}",
    "{noun} “{key}”",
    "the {noun} with {key_column} {key}",
    "the {noun} whose {key_column} is {key}",
)
"""A row named by the column that names rows in this table."""
OTHER_ROWS = (
    "the {noun} with {key_column} {key}",
    "the {noun} with {key_column} {key}",
    "the {noun} with {key_column} “{key}”",
    "the {noun} whose {key_column} is {key}",
    "the {noun} that has {key_column} {key}",
)
"""A row named by another column that happens to tell it from all others."""
ASKING: Mapping[str, tuple[str, ...]] = {
    "single": (
        "What is the {column} of {row}?",
        "What's the {column} for {row}?",
        "Tell me the {column} of {row}.",
        "Give me the {column} of {row}.",
        "I need the {column} of {row}.",
        "Please look up the {column} of {row}.",
        "Which {column} does {row} have?",
        "What {column} is listed for {row}?",
        "For {row}, what is the {column}?",
        "Can you find the {column} of {row}?",
        "What does it say under {column} for {row}?",
        "Check {row} and give me its {column}.",
        "Do you know the {column} of {row}?",
        "I am looking at {row}. What is its {column}?",
        "What was the {column} of {row}?",
        "Could you show me the {column} for {row}?",
        "Let me know the {column} of {row}.",
        "We need to know the {column} for {row}.",
    ),
    "count": (
        "How many {nouns} have {column} {value}?",
        "How many {nouns} are there with {column} {value}?",
        "Count the {nouns} with {column} {value}.",
        "Count the {nouns} whose {column} is {value}.",
        "What is the number of {nouns} with {column} {value}?",
        "I need the number of {nouns} with {column} {value}.",
        "For how many {nouns} is the {column} {value}?",
        "How often does the {column} {value} occur?",
        "How often is {value} the {column}?",
        "How many times is the {column} {value}?",
        "Tell me how many {nouns} have {value} as {column}.",
        "How many {nouns} are listed with {column} {value}?",
        "How many {nouns} in the table have {column} {value}?",
        "Can you count the {nouns} that have {column} {value}?",
        "Please find out how many {nouns} have the {column} {value}.",
        "When the {column} is {value}, how many {nouns} is that?",
    ),
    "filter": (
        "Which {noun} has {column1} {value1} and {column2} {value2}?",
        "Which {noun} with {column1} {value1} has {column2} {value2}?",
        "Find the {noun} with {column1} {value1} and {column2} {value2}.",
        "What is the {key_column} of the {noun} with {column1} {value1} and {column2} {value2}?",
        "The {column1} is {value1} and the {column2} is {value2}. Which {noun} is it?",
        "I am looking for the {noun} whose {column1} is {value1} and whose {column2} is {value2}.",
        "Among the {nouns} with {column1} {value1}, which one has {column2} {value2}?",
        "Of all {nouns} with {column1} {value1}, which one has {column2} {value2}?",
        "Name the {noun} that has {column1} {value1} and {column2} {value2}.",
        "Which one has {column1} {value1} together with {column2} {value2}?",
        "Where the {column1} is {value1}, which {noun} shows {column2} {value2}?",
        "Give me the {key_column} where {column1} is {value1} and {column2} is {value2}.",
        "Which {noun} matches {column1}: {value1} and {column2}: {value2}?",
        "There is one {noun} with {column1} {value1} and {column2} {value2}. Which one is it?",
        "I need the {key_column} of the {noun} that has {column1} {value1} and {column2} {value2}.",
        "Only one {noun} with {column1} {value1} has {column2} {value2}. Which one?",
    ),
    "compare": (
        "Which has the {more} {column}, {key1} or {key2}?",
        "Which {noun} has the {more} {column}, {key1} or {key2}?",
        "Which one has the {more} {column}: {key1} or {key2}?",
        "Is the {column} {more} for {key1} or for {key2}?",
        "Compare {key1} and {key2}: which has the {more} {column}?",
        "Between {key1} and {key2}, which has the {more} {column}?",
        "Of {key1} and {key2}, which one has the {more} {column}?",
        "Take {key1} or {key2}: which has the {more} {column}?",
        "Which of {key1} and {key2} has the {more} {column}?",
        "Does {noun} {key1} or {noun} {key2} have the {more} {column}?",
        "Take {noun} {key1} and {noun} {key2}. Which has the {more} {column}?",
        "Look at {key1} and {key2} and name the one with the {more} {column}.",
        "Tell me which {noun} has the {more} {column}, {key1} or {key2}.",
        "I have to choose between {key1} and {key2}. Which has the {more} {column}?",
        "There are {key1} and {key2}. Which of the two has the {more} {column}?",
        "Two {nouns}, {key1} and {key2}: which one has the {more} {column}?",
    ),
    "two_hop": (
        "What is the {column} of the other {noun} with the same {column2} as {row}?",
        "What is the {column} of the {noun} that has the same {column2} as {row}?",
        "Which {column} does the {noun} have that shares its {column2} with {row}?",
        "Another {noun} has the same {column2} as {row}. What is its {column}?",
        "Find the {noun} that has the same {column2} as {row} and tell me its {column}.",
        "Look up the {column2} of {row}. Which {column} does the other {noun} with it have?",
        "Give me the {column} of the other {noun} with the {column2} of {row}.",
        "Tell me the {column} of the {noun} whose {column2} is that of {row}.",
        "Besides {row}, one {noun} has the same {column2}. What is its {column}?",
        "The {column2} of {row} occurs once more. What is the {column} there?",
        "Starting from {row}, find the one with the same {column2} and give its {column}.",
        "Which other {noun} has the {column2} of {row}, and what is the {column} there?",
        "One more {noun} shares the {column2} of {row}. I need its {column}.",
        "I know {row}. What is the {column} of the other {noun} with that {column2}?",
        "There is a second {noun} with the {column2} of {row}. What is its {column}?",
    ),
    "across": (
        "What is the {column} of the {noun2} of {row}?",
        "What is the {column} of the {noun2} that belongs to {row}?",
        "Tell me the {column} of the {noun2} for {row}.",
        "Which {column} does the {noun2} of {row} have?",
        "For {row}, what is the {column} of the {noun2}?",
        "Find the {noun2} of {row} and give me the {column}.",
        "I am looking at {row}. What is the {column} of its {noun2}?",
        "What {column} does the {noun2} behind {row} have?",
        "Look up {row}, then its {noun2}. What is the {column}?",
        "Which {noun2} belongs to {row}, and what is its {column}? I only need the {column}.",
        "Give me the {column} of the {noun2} linked to {row}.",
        "I need the {column} of the {noun2} of {row}.",
        "Can you find out the {column} of the {noun2} for {row}?",
        "From {row} go to its {noun2} and tell me the {column}.",
        "The {noun2} of {row}: what is its {column}?",
    ),
}
MORE: Mapping[tuple[str, bool], tuple[str, ...]] = {
    ("number", True): ("higher", "higher", "larger", "greater"),
    ("number", False): ("lower", "lower", "smaller"),
    ("date", True): ("later", "later", "more recent"),
    ("date", False): ("earlier", "earlier"),
}
BEFORE = (
    *("",) * 14,
    *("Hi! ", "Hello. ", "Quick question: ", "One more: ", "Hello, I have a question. ", "Good morning. "),
)
AFTER = (*("",) * 14, " Thanks!", " Thank you.", " I am in a hurry.", " It is for a report.")
ONLY_ONE = (" Name only that one.", " Just name that one, please.", " Answer with that one only.")
"""What a comparison says besides, as naming both is no answer."""
