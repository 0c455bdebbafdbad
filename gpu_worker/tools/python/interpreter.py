"""Keeps interpreters and calls functions in them: a process that reads questions and writes answers.

`python -m gpu_worker.tools.python.interpreter`, with the messages of `sandbox.py` on standard input and
output. It trusts whoever starts it and nothing that the functions say or do.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pydantic_monty as monty
from pydantic_monty._binary import find_monty_binary

from gpu_worker.tools.python import launcher
from gpu_worker.tools.python.limits import DEPTH, MEMORY, MOST_OUTPUT, SECONDS
from gpu_worker.tools.python.sandbox import LENGTH, STOPPED, CodeFailed, read_message

LIMITS = monty.ResourceLimits(
    max_feed_duration_secs=SECONDS,
    max_memory=MEMORY,
    max_recursion_depth=DEPTH,
    max_suspensions=1000,
    max_total_sleep_secs=0.0,
)
POLICY = monty.OSPolicy(sleep="zero", random_start={"seed": 0})
CHECKOUTS = 100
"""Calls a process serves before it is replaced."""
_ARGUMENTS = "__arguments__"


def main() -> None:
    """Answer until the other side is gone."""
    with _launch_script() as script, _pool(script) as pool:
        while (message := read_message(sys.stdin.buffer)) is not None:
            answer = json.dumps(_answer(pool, json.loads(message))).encode()
            sys.stdout.buffer.write(LENGTH.pack(len(answer)) + answer)
            sys.stdout.buffer.flush()


def _answer(pool: monty.Monty, question: dict[str, Any]) -> dict[str, Any]:
    try:
        if question["do"] == "check":
            return {"found": _checked(pool, question["code"])}
        return _called(pool, question["code"], question["function"], question["arguments"])
    except CodeFailed as failed:
        return {"error": failed.args[0], "line": failed.line}
    except monty.MontyCrashedError:
        return {"error": STOPPED, "line": 0}
    except monty.MontyConversionError as error:
        return {"error": f"An argument cannot be passed to the function: {error}", "line": 0}
    except (monty.MontyRuntimeError, monty.MontySyntaxError) as error:
        return _told(error)


def _called(pool: monty.Monty, code: str, function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    output = monty.CollectString(MOST_OUTPUT)
    with pool.checkout(limits=LIMITS, os_policy=POLICY, script_name="tool.py") as session:
        session.feed_run(code, print_callback=output)
        call, inputs = f"{function}(**{_ARGUMENTS})", {_ARGUMENTS: arguments}
        value = session.feed_run(call, inputs=inputs, print_callback=output)
        return {"text": _as_text(value), "printed": output.output}


def _checked(pool: monty.Monty, code: str) -> list[dict[str, Any]]:
    try:
        with pool.checkout(
            limits=LIMITS, os_policy=POLICY, type_check=True, type_check_format="json"
        ) as session:
            session.feed_run(code)
    except monty.MontyTypingError as error:
        found: list[dict[str, Any]] = json.loads(error.display())
        return found
    return []


def _as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_refuse)
        except (TypeError, ValueError, RecursionError) as error:
            raise CodeFailed(f"The function must return a text or plain data: {error}") from None
    if len(text) > MOST_OUTPUT:
        raise CodeFailed(f"The function returned {len(text)} characters; {MOST_OUTPUT} at most")
    return text


def _refuse(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} is not plain data")


def _told(error: monty.MontyRuntimeError | monty.MontySyntaxError) -> dict[str, Any]:
    """The message, with the last line of the person's own code: our call is nobody's mistake."""
    frames = [frame for frame in error.traceback() if frame.filename == "<python-input-0>"]
    return {"error": str(error)[:500], "line": frames[-1].line if frames else 0}


def _pool(script: Path) -> monty.Monty:
    return monty.Monty(
        binary_path=script,
        min_processes=1,
        max_processes=1,
        checkout_timeout=5.0,
        request_timeout=SECONDS + 4.0,
        max_checkouts_per_worker=CHECKOUTS,
    )


@contextmanager
def _launch_script() -> Iterator[Path]:
    """A program that starts the launcher: what the pool starts takes no arguments of ours."""
    directory = Path(tempfile.mkdtemp(prefix="artweb-sandbox-"))
    try:
        script = directory / "monty"
        words = (sys.executable, "-IS", str(Path(launcher.__file__)), find_monty_binary())
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
        script.chmod(0o700)
        yield script
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
