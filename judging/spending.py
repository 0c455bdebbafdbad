"""Money: a purse that language models are paid from, and that says no before its limit is passed.

Each question reserves the most it may cost before it is put, and is settled at what it did cost. With a
ledger file the purse is shared by every process of a run and remembered by its next life; what a killed
process had reserved stays reserved, since it may have been billed. Prices are llm.py's business.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NANO = 10**9
"""Sums are kept in whole billionths of a dollar, so that they add up whatever their order."""
_DIGITS = 24


class BudgetSpent(Exception):
    """The next answer might cost more than is left. The sentence has the figures."""


@dataclass
class _Book:
    """Billionths of a dollar, and the number of answers whose price nobody knows."""

    spent: int = 0
    held: int = 0
    unpriced: int = 0


class Purse:
    """`limit` dollars, 0 for no limit. `ledger` is a file that belongs to this purse alone."""

    def __init__(self, limit: float = 0.0, ledger: Path | None = None) -> None:
        self.limit = limit
        self._ledger = ledger
        self._kept = _Book()
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """Dollars paid so far."""
        with self._book() as book:
            return book.spent / NANO

    @property
    def unpriced(self) -> int:
        """Answers that cost something nobody here knows."""
        with self._book() as book:
            return book.unpriced

    def take(self, most: float) -> bool:
        """Reserve `most` dollars. False if it has to wait for what others have reserved to be settled.

        Raises BudgetSpent if the limit would be passed even after that.
        """
        with self._book() as book:
            amount, limit = _nano(most), _nano(self.limit)
            if self.limit and book.spent + amount > limit:
                raise BudgetSpent(_used_up(self.limit, book, most))
            if self.limit and book.spent + book.held + amount > limit:
                return False
            book.held += amount
            return True

    def settle(self, most: float, cost: float | None) -> None:
        """Give back a reservation of `most` dollars and pay `cost`; None counts as unpriced."""
        with self._book() as book:
            book.held -= _nano(most)
            book.spent += _nano(cost or 0.0)
            book.unpriced += cost is None

    def give_up(self, most: float) -> BudgetSpent:
        """Why nobody waits any longer for a reservation of `most` dollars."""
        with self._book() as book:
            return BudgetSpent(_used_up(self.limit, book, most))

    @contextmanager
    def _book(self) -> Iterator[_Book]:
        """The sums, for this thread and process alone; kept unless an exception is raised."""
        with self._lock:
            if self._ledger is None:
                yield self._kept
                return
            with _locked(self._ledger) as file:
                book = _read(os.pread(file, 3 * (_DIGITS + 1), 0))
                yield book
                os.pwrite(file, _written(book), 0)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file's number; other threads and processes wait until it is closed."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _read(line: bytes) -> _Book:
    return _Book(*map(int, line.split())) if line else _Book()


def _written(book: _Book) -> bytes:
    """Always of the same length and written at once: a kill never leaves half of the sums."""
    return b"".join(b"%0*d\n" % (_DIGITS, number) for number in (book.spent, book.held, book.unpriced))


def _nano(dollars: float) -> int:
    return round(dollars * NANO)


def _used_up(limit: float, book: _Book, most: float) -> str:
    return (
        f"The budget of ${limit:.2f} is used up: ${book.spent / NANO:.4f} are spent, ${book.held / NANO:.4f} "
        f"are reserved for answers that are not there yet, and the next answer may cost ${most:.4f}."
    )
