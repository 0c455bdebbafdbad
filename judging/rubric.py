"""What a judge is asked to look at when the agent's owner says nothing else."""

import re

DEFAULT = """\
- What counts most is whether the task was done. A try that reaches the goal scores far above every try that
  does not, however well those are written.
- A try that gets part of the way earns part of the score.
- Among tries that reach the goal, the one that gets there with fewer steps and fewer failed calls is a little
  better. Brevity never makes up for a goal that was missed.
- An answer must rest on what the tools returned in that same try. A value that was guessed counts as wrong,
  even if it happens to be right.
- Let the distance between two scores follow the distance in quality: close tries get close scores, equal
  tries the same."""


def unwrapped(rubric: str) -> str:
    """For people: an indented line of prose goes on where the line above it ended. Judges get it as it is."""
    return re.sub(r"\n[ \t]+(?![ \t\n]|[-*•#]|\d+[.)])", " ", rubric)
