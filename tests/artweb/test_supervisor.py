"""Children are shown, started again, stopped to the last one, and die with their supervisor."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = """
import os, sys
from artweb.supervisor import Child, Supervisor
children = [Child(name, (sys.executable, "-c", code), dict(os.environ)) for name, code in {children!r}]
Supervisor(children, grace=1).run()
print("all gone")
"""
WAITING = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITING
PARENT = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {code!r}]).wait()"


def start(*children: tuple[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(children=children)],
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TEST_MARK": mark()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def mark() -> str:
    return f"supervisor-test-{os.getpid()}"


def processes_left() -> list[str]:
    """Command lines of processes that inherited our mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_text().replace("\0", " ")
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"TEST_MARK={mark()}".encode() in environment and state != "Z":
            found.append(command)
    return found


def lines_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if word in line:
            return lines
    raise AssertionError(f"{word!r} never came: {lines}")


def soon(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_output_cannot_steer_the_terminal() -> None:
    process = start(("a", r"print('\x1b[2J\u202ehidden\ttab\u4e2d')"), ("b", WAITING))
    assert "a | \ufffd[2J\ufffdhidden\ttab\u4e2d" in lines_until(process, "hidden")
    process.terminate()
    process.communicate(timeout=30)


def test_output_is_prefixed_and_a_dead_child_starts_again() -> None:
    process = start(("a", "print('hello')"), ("longer", WAITING))
    lines = lines_until(process, "starting again in")
    if "longer | up" not in lines:
        lines += lines_until(process, "longer | up")
    assert "a      | hello" in lines
    assert "a      | ended with 0; starting again" in lines
    process.terminate()
    assert process.communicate(timeout=60)[0].endswith("all gone\n")
    assert process.returncode == 0 and soon(lambda: processes_left() == [])


def test_ctrl_c_stops_children_and_what_they_started() -> None:
    process = start(("family", PARENT.format(code=WAITING)))
    lines_until(process, "up")
    assert len(processes_left()) == 3
    process.send_signal(signal.SIGINT)
    assert "all gone" in process.communicate(timeout=60)[0]
    assert soon(lambda: processes_left() == [])


def test_a_child_that_will_not_leave_is_killed() -> None:
    process = start(("deaf", STUBBORN))
    lines_until(process, "up")
    process.terminate()
    said = process.communicate(timeout=30)[0]
    assert "deaf | did not leave within 1 s and is killed" in said and "all gone" in said
    assert soon(lambda: processes_left() == [])


def test_children_die_with_a_supervisor_that_is_killed() -> None:
    process = start(("a", WAITING))
    lines_until(process, "up")
    process.kill()
    process.communicate()
    assert soon(lambda: processes_left() == [])
