"""How long a call of a tool takes, from its arguments to the text the agent reads.

    python -m bench.sides.tool_calls table '{"rows": 50000, "calls": 2000, "seed": 0}' DIRECTORY
    python -m bench.sides.tool_calls python '{"calls": 2000, "seed": 0}' DIRECTORY

Milliseconds, medians of different calls one after the other, each in a try of its own. Of the table's calls
the figure is the slowest median of finding by a key, finding by a value that thousands of rows have, and
counting; what searching for words, reading the file, storing and opening it take is told beside it.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_worker.tools.python.tool import python_tool
from gpu_worker.tools.tables import StoredTable, open_table, save, standard_plans, table_tool
from gpu_worker.tools.tables.reading import read
from gpu_worker.types import ToolPlan, ToolSpec

CITIES = ("Oslo", "北京", "São Paulo", "Łódź", "Lagos")
STATES = ("open", "sent", "paid", "returned")
WORDS = ("red", "blue", "phone", "case", "lamp", "手机", "红色", "chair", "Größe", "table")
OTHER_COLUMNS = 15
CODE = '''
def total(price: float, count: int = 1) -> float:
    """The price of several, with tax.

    Args:
        price: of one
        count: how many
    """
    return round(price * count * 1.19, 2)
'''

Arguments = dict[str, Any]


def write_csv(path: Path, rows: int, rng: random.Random) -> None:
    """A table of 20 columns: a key, two that thousands of rows share, a text, a number, and figures."""
    others = [f"figure {number}" for number in range(OTHER_COLUMNS)]
    lines = [";".join(["order id", "city", "state", "note", "price", *others])]
    for number in range(rows):
        note = " ".join(rng.choices(WORDS, k=4))
        cells = [f"A{number:06d}", rng.choice(CITIES), rng.choice(STATES), note, f"{rng.random() * 500:.2f}"]
        lines.append(";".join(cells + [str(rng.randrange(1000)) for _ in others]))
    path.write_text("\n".join(lines), encoding="utf-8")


def timed(call: Callable[[Arguments], str], asked: list[Arguments]) -> float:
    """Median milliseconds of a call."""
    seconds = []
    for arguments in asked:
        begun = time.perf_counter()
        call(arguments)
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds) * 1000


def lasting(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and its seconds."""
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def of_table(options: dict[str, int], directory: Path) -> dict[str, Any]:
    rng = random.Random(options["seed"])
    source = directory / "orders.csv"
    write_csv(source, options["rows"], rng)
    sheet, reading = lasting(lambda: read(source, source.name))
    (sha256, path), saving = lasting(lambda: save(sheet, directory))
    stored, opening = lasting(lambda: open_table(path))
    medians = _medians(stored, sha256, options, rng)
    seconds = {"read": round(reading, 3), "save": round(saving, 3), "open": round(opening, 5)}
    figure = max(medians[name] for name in ("find by key", "find by a common value", "count"))
    return {"figure": figure, "milliseconds": medians, "seconds": seconds}


def _medians(
    stored: StoredTable, sha256: str, options: dict[str, int], rng: random.Random
) -> dict[str, float]:
    plans = {plan.settings["does"]: plan for plan in standard_plans("orders", stored.columns, sha256=sha256)}

    def call(does: str) -> Callable[[Arguments], str]:
        return lambda arguments: table_tool(plans[does], stored.for_one_try()).call(arguments)

    calls = range(options["calls"])
    keys = [{"column": "order id", "value": f"a{rng.randrange(options['rows']):06d}"} for _ in calls]
    common = [{"column": "city", "value": rng.choice(CITIES)} for _ in calls]
    single = [{"words": f"A{rng.randrange(options['rows']):06d}"} for _ in calls]
    several = [{"words": " ".join(rng.sample(WORDS, 2))} for _ in calls[: max(10, len(calls) // 20)]]
    return {
        "find by key": round(timed(call("find"), keys), 4),
        "find by a common value": round(timed(call("find"), common), 4),
        "count": round(timed(call("count"), common), 4),
        "search for one row": round(timed(call("search"), single), 4),
        "search for common words": round(timed(call("search"), several), 4),
    }


def of_python(options: dict[str, int], directory: Path) -> dict[str, Any]:
    rng = random.Random(options["seed"])
    tool = python_tool(ToolPlan(ToolSpec("total", "", {}), "python", {"code": CODE}))
    tool.call({"price": 1.0})
    asked = [{"price": rng.random() * 100, "count": rng.randrange(1, 9)} for _ in range(options["calls"])]
    return {"figure": round(timed(tool.call, asked), 4)}


if __name__ == "__main__":
    side = {"table": of_table, "python": of_python}[sys.argv[1]]
    print(json.dumps(side(json.loads(sys.argv[2]), Path(sys.argv[3]))))
