"""What came out of the bars: the table a person reads, results/<id>.json, and README.md made from those."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import measure, peers, plot
from bench.bar import Bar, NotRun, Outcome

BENCH = Path(__file__).resolve().parent
RESULTS = BENCH / "results"
README = BENCH / "README.md"
PLOT = RESULTS / "bars.svg"
GROWTH = RESULTS / "work.svg"
GENERATED = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- /results -->)", re.S)
"""The part of README.md that is made from the results."""


def order(name: str) -> tuple[int, str, int, str]:
    """Sorts C2 before C10, numbered bars before words."""
    match = re.match(r"([A-Z])(\d+)(.*)", name)
    return (0, match[1], int(match[2]), match[3]) if match else (1, name, 0, "")


def listing(bars: Sequence[Bar]) -> str:
    rows = [("bar", "what", "peer", "must", "aim")]
    rows += [(bar.id, bar.title, bar.peer or "–", bar.bound, f"{bar.aim:g}") for bar in bars]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        "  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def summary(bar: Bar, outcome: Outcome) -> dict[str, Any]:
    """The JSON line of a bar: verdict, median and worst score, both sides' figures, and how they were got."""
    told: dict[str, Any] = {"bar": bar.id, "title": bar.title, "state": outcome.state, "peer": bar.peer}
    told |= {"unit": bar.unit, "score": bar.score, "must": bar.must, "aim": bar.aim, "bound": bar.bound}
    if outcome.pairs:
        values = measure.scores(bar, outcome.pairs)
        told |= {"median": _short(statistics.median(values)), "worst": _short(measure.worst(bar, values))}
        told["ours"] = _side([pair.ours for pair in outcome.pairs])
        told["theirs"] = _side([pair.theirs for pair in outcome.pairs if pair.theirs is not None])
        told["pairs"] = [vars(pair) for pair in outcome.pairs]
        told["others_cores"] = max(pair.load for pair in outcome.pairs)
    told |= {"gate": dict(outcome.gate), "setting": dict(outcome.setting), "tried": list(outcome.tried)}
    return told | {"options": dict(outcome.options), "peers": _pins(bar), "machine": machine()}


def _side(figures: Sequence[float]) -> dict[str, float]:
    if not figures:
        return {}
    found = {"median": statistics.median(figures), "least": min(figures), "most": max(figures)}
    return {name: _short(figure) for name, figure in found.items()}


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def _pins(bar: Bar) -> dict[str, list[str]]:
    return {name: peers.pins_of(name) for name in bar.needs}


def machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def table(bar: Bar, outcome: Outcome) -> str:
    """What a person sees of one bar."""
    rows = [f"{bar.id}  {bar.title}" + (f", against {bar.peer}" if bar.peer else "")]
    if outcome.gate:
        rows.append("  agreed: " + ", ".join(f"{name} {value}" for name, value in outcome.gate.items()))
    if outcome.setting:
        rows.append("  the peer at " + json.dumps(dict(outcome.setting)))
    if outcome.pairs:
        rows += _pair_rows(bar, outcome)
    return "\n".join([*rows, "  " + verdict(bar, outcome)])


def _pair_rows(bar: Bar, outcome: Outcome) -> list[str]:
    head = {"times": "times better", "share": "share of it", "own": ""}[bar.score]
    rows = [f"  pair {'ours ' + bar.unit:>14} {'peer ' + bar.unit:>14} {head:>13} {'others, cores':>14}"]
    for number, (pair, score) in enumerate(
        zip(outcome.pairs, measure.scores(bar, outcome.pairs), strict=True)
    ):
        theirs = "" if pair.theirs is None else f"{pair.theirs:.4g}"
        shown = "" if bar.score == "own" else f"{score:.3g}"
        rows.append(f"  {number + 1:4d} {pair.ours:14.4g} {theirs:>14} {shown:>13} {pair.load:14.2f}")
    return rows


def verdict(bar: Bar, outcome: Outcome) -> str:
    if not outcome.pairs:
        return f"{bar.bound}: {outcome.state}."
    values = measure.scores(bar, outcome.pairs)
    sign = "×" if bar.score == "times" else ""
    middle, extreme = statistics.median(values), measure.worst(bar, values)
    told = f"median {middle:.4g}{sign}, worst {extreme:.4g}{sign}; {bar.bound} (aim {bar.aim:g})"
    return f"{told}: {outcome.state}."


def keep(bar: Bar, outcome: Outcome) -> Path:
    """Write results/<id>.json, the latest figures of the bar."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{bar.id}.json"
    told = summary(bar, outcome) | {"measured": datetime.now(UTC).date().isoformat()}
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    return path


def kept(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    """The latest results, in the order of the bars."""
    paths = [RESULTS / f"{bar.id}.json" for bar in bars]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def write_readme(bars: Sequence[Bar]) -> None:
    """Put the table of the latest results, and the plot, into README.md. Raises NotRun without its marks."""
    results, text = kept(bars), README.read_text()
    if not GENERATED.search(text):
        raise NotRun("README.md has lost the marks between which its results stand")
    PLOT.write_text(plot.bars(results))
    grown = next((result for result in results if result["bar"] == "work"), None)
    if grown:
        series = grown["pairs"][0]["details"]["ours"]["series"]
        GROWTH.write_text(plot.lines(series, "different tokens of a step", "seconds of the step"))
    README.write_text(GENERATED.sub(lambda _: readme_part(results), text))


def readme_part(results: Sequence[dict[str, Any]]) -> str:
    """Markdown: one row a bar, and the machines they were measured on."""
    rows = [
        "",
        "| bar | what | peer | must | median | worst | pairs | ours | peer's | verdict |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows += [_row(result) for result in results]
    rows += ["", "![Worst pairs of the bars against what they must reach](results/bars.svg)"]
    if any(result["bar"] == "work" for result in results):
        rows.append("![Seconds of a step against its different tokens](results/work.svg)")
    rows.append("")
    rows += [f"- {line}" for line in _machines(results)]
    return "\n".join(rows) + "\n"


def _row(result: dict[str, Any]) -> str:
    sign = "×" if result["score"] == "times" else ""
    ours, theirs = result.get("ours"), result.get("theirs")
    cells = [
        result["bar"],
        result["title"],
        result["peer"] or "–",
        result["bound"],
        f"{result['median']:g}{sign}" if "median" in result else "–",
        f"{result['worst']:g}{sign}" if "worst" in result else "–",
        str(len(result.get("pairs", []))),
        f"{ours['median']:g} {result['unit']}".strip() if ours else "–",
        f"{theirs['median']:g} {result['unit']}".strip() if theirs else "–",
        result["state"],
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _machines(results: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each machine: which bars were measured there, when, and how busy others kept it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        of = result["machine"]
        name = f"{of['processor']}, {of['cores']} cores, {of['memory_gb']} GB, {of['system']}"
        device = next((p["details"].get("ours", {}).get("device") for p in result.get("pairs", [])), None)
        found.setdefault(f"{device}, {name}" if device else name, []).append(result)
    lines = []
    for name, those in found.items():
        busiest = max(result.get("others_cores", 0.0) for result in those)
        days = sorted({result["measured"] for result in those})
        span = " to ".join(dict.fromkeys((days[0], days[-1])))
        measured = ", ".join(result["bar"] for result in those)
        load = f"other programs used at most {busiest:g} cores during a pair"
        lines.append(f"{measured}: {name}; {span}; {load}.")
    return lines
