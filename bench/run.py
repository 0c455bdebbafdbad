"""Runs bars and says which are met: `python3 manage.py bench BAR… [--pairs 5] [--json]`.

Ends with status 0 only when every bar that was asked for is met at its worst pair. A bar whose sides do
not agree, whose peer cannot be installed or that needs a device this machine has not is not met.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any

from bench import bars, measure, report
from bench.bar import Bar, Outcome


def all_bars() -> list[Bar]:
    """Every bar there is, in the order of their names: C1, C1b, C2, …, H1, then words."""
    names = [module.name for module in pkgutil.iter_modules(bars.__path__)]
    found = [bar for name in names for bar in importlib.import_module(f"bench.bars.{name}").BARS]
    return sorted(found, key=lambda bar: report.order(bar.id))


def chosen(names: Sequence[str]) -> list[Bar]:
    """The bars asked for; C6 stands for C6-memory and C6-bytes. Raises ValueError for an unknown name."""
    known = all_bars()
    found = []
    for name in names:
        those = [bar for bar in known if bar.id.lower() == name.lower()]
        those = those or [bar for bar in known if bar.id.lower().startswith(f"{name.lower()}-")]
        if not those:
            raise ValueError(f"There is no bar {name}; there are {', '.join(bar.id for bar in known)}.")
        found += [bar for bar in those if bar not in found]
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bars", nargs="*", metavar="BAR", help="such as C4 or kills")
    parser.add_argument("--list", action="store_true", help="say which bars there are")
    parser.add_argument("--readme", action="store_true", help="write the latest results into bench/README.md")
    parser.add_argument("--pairs", type=int, default=5, help="how often both sides run")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON a bar")
    parser.add_argument("--small", action="store_true", help="a quick try of one pair with less work")
    for option in sorted({name for bar in all_bars() for name in bar.options}):
        users = ", ".join(f"{bar.id} {bar.options[option]}" for bar in all_bars() if option in bar.options)
        parser.add_argument(f"--{option.replace('_', '-')}", type=int, help=f"of {users}")


def main(asked: dict[str, Any]) -> int:
    """The exit status."""
    if asked["readme"]:
        report.write_readme(all_bars())
        return 0
    if asked["list"] or not asked["bars"]:
        print(report.listing(all_bars()))
        return 0 if asked["list"] else 2
    try:
        wanted = chosen(asked["bars"])
    except ValueError as unknown:
        print(unknown, file=sys.stderr)
        return 2
    outcomes = [_outcome(bar, asked) for bar in wanted]
    if asked["json"]:
        for bar, outcome in zip(wanted, outcomes, strict=True):
            print(json.dumps(report.summary(bar, outcome), ensure_ascii=False))
    return 0 if all(outcome.state == "met" for outcome in outcomes) else 1


def _outcome(bar: Bar, asked: dict[str, Any]) -> Outcome:
    options = {name: asked[name] for name in bar.options if asked.get(name) is not None}
    outcome = measure.measured(bar, pairs=asked["pairs"], small=asked["small"], options=options)
    print(report.table(bar, outcome), flush=True)
    if outcome.pairs and outcome.options == bar.options:
        report.keep(bar, outcome)
    return outcome


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_arguments(parser)
    sys.exit(main(vars(parser.parse_args())))
