"""The text of one turn while it is being sampled: what to show, and whether a stop text has come.

Only for turns that are watched; a training turn is decoded once, when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpu_worker.engines.embedded.calls import OPEN


class TurnText:
    """Takes the ids of a turn, hands on what may be shown, and finds the first stop text.

    Shown text never holds tool-call markup, a stop text, or white space at either end; what might still
    become one of these is held back.
    """

    def __init__(
        self, stops: Sequence[str], show: Callable[[str], None] | None, decode: Callable[[int], str | None]
    ) -> None:
        self.text = ""
        self.stopped = False
        self.decode = decode
        self.shown = 0
        self.stops = [stop for stop in stops if stop]
        self.show = show
        self.marks = [OPEN, *self.stops]

    def add(self, token: int) -> bool:
        """Take the next id. True when a stop text is complete; `text` then ends before it."""
        piece = self.decode(token) or ""
        searched = max(0, len(self.text) - max(map(len, self.marks)) + 1)
        self.text += piece
        found = [at for at in (self.text.find(stop, searched) for stop in self.stops) if at >= 0]
        if found:
            self.text = self.text[: min(found)]
            self.stopped = True
        if self.show is not None:
            self._show_up_to(self._safe_end())
        return self.stopped

    def finish(self, content: str) -> None:
        """Show what `content`, the turn's final text, has beyond what was shown."""
        if self.show is not None and content[: self.shown] == self.text.lstrip()[: self.shown]:
            rest = content[self.shown :]
            if rest:
                self.show(rest)

    def _safe_end(self) -> int:
        """Up to where the text, without leading white space, is certain to be plain content."""
        text = self.text.lstrip()
        end = text.find(OPEN)
        if end < 0:
            end = len(text) - max(_overlap(text, mark) for mark in self.marks)
        return len(text[:end].rstrip())

    def _show_up_to(self, end: int) -> None:
        assert self.show is not None
        if end > self.shown:
            self.show(self.text.lstrip()[self.shown : end])
            self.shown = end


def _overlap(text: str, mark: str) -> int:
    """How many of the last characters of `text` begin `mark`."""
    return next((n for n in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:n])), 0)
