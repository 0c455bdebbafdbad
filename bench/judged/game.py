"""2048 as in ART's notebook: the board as text, the move as <move>left</move>, until 64 stands on it.

All tries of a group begin with the same board. New tiles follow from the number of the move, so that tries
which move alike see alike; with 20 things to do they are each try's own chance, and so are its moves.
"""

from __future__ import annotations

import random

from bench.judged import Case, Message, choice

SIZE = 4
GOAL = 64
MOST_MOVES = 60
MOVES = ("left", "down", "right", "up")
OWN_CHANCE = 20
"""From so many things to do on, new tiles are each try's own."""
SYSTEM = (
    "You are an excellent 2048 player. Always choose the move most likely to lead to combine cells to "
    "eventually reach the number 2048. Optional moves are 'left', 'right', 'up', 'down'. Return your move as "
    "an XML object with a single property 'move', like so: <move>left</move>"
)

Board = list[list[int]]


def case(distinct: int, size: int, source: random.Random) -> Case:
    start: Board = [[0] * SIZE for _ in range(SIZE)]
    for _ in range(2):
        _spawn(start, source)
    tiles = source.getrandbits(32)
    tries = []
    for _ in range(size):
        own = source.getrandbits(32) if distinct >= OWN_CHANCE else tiles
        tries.append(({"role": "system", "content": SYSTEM}, *_game(start, distinct, own, source)))
    return Case(tuple(tries), ())


def _game(start: Board, distinct: int, tiles: int, source: random.Random) -> list[Message]:
    """Fewer things to do: a policy that is surer of the next of its moves."""
    board = [row[:] for row in start]
    said: list[Message] = []
    for number in range(MOST_MOVES):
        said.append({"role": "user", "content": rendered(board)})
        sure = {2: 0.97, 3: 0.93, 6: 0.8}.get(distinct, 0.5)
        possible = [move for move in MOVES if moved(board, move) != board]
        if not possible or max(map(max, board)) >= GOAL:
            return said[:-1] if number else said
        move = possible[0] if source.random() < sure else possible[choice(len(possible), source)]
        said.append({"role": "assistant", "content": f"<move>{move}</move>"})
        board = moved(board, move)
        _spawn(board, random.Random(f"{tiles}/{number}"))
    return said


def rendered(board: Board) -> str:
    """Cells right-aligned to the widest, empty ones as _, as ART's notebook prints them."""
    width = max(len(str(cell)) for row in board for cell in row)
    return "".join(
        "|".join((str(cell) if cell else "_").rjust(width) for cell in row) + "\n" for row in board
    )


def moved(board: Board, move: str) -> Board:
    if move in ("up", "down"):
        return _turned(moved(_turned(board), "left" if move == "up" else "right"))
    if move == "right":
        return [row[::-1] for row in moved([row[::-1] for row in board], "left")]
    return [_merged(row) for row in board]


def _turned(board: Board) -> Board:
    return [list(column) for column in zip(*board, strict=True)]


def _merged(row: list[int]) -> list[int]:
    cells = [cell for cell in row if cell]
    done: list[int] = []
    while cells:
        cell = cells.pop(0)
        if cells and cells[0] == cell:
            cell += cells.pop(0)
        done.append(cell)
    return done + [0] * (SIZE - len(done))


def _spawn(board: Board, source: random.Random) -> None:
    empty = [(y, x) for y in range(SIZE) for x in range(SIZE) if not board[y][x]]
    if empty:
        y, x = source.choice(empty)
        board[y][x] = 2 if source.random() < 0.9 else 4
