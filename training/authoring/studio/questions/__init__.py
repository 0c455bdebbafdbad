"""Practice questions about tables, without a language model: `invent` them, `split` them, find `leaks`.

Pure functions over stored tables and tool plans: no Django, no database. Every expected answer is what the
agent's own tools return. `inventing` is the place to start reading.
"""

from training.authoring.studio.questions.inventing import invent
from training.authoring.studio.questions.question import DIFFICULTY, KINDS, Question
from training.authoring.studio.questions.similar import Texts, duplicates
from training.authoring.studio.questions.splits import SHARES, Leak, leaks, split
from training.authoring.studio.questions.tables import QuestionTable

__all__ = [
    "DIFFICULTY",
    "KINDS",
    "SHARES",
    "Leak",
    "Question",
    "QuestionTable",
    "Texts",
    "duplicates",
    "invent",
    "leaks",
    "split",
]
