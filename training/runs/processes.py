"""Processes of this host: which one am I, is that one still alive, and who dies with whom."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent(sign: signal.Signals = signal.SIGTERM) -> None:
    """Have the kernel send us `sign` when the thread that started us ends. Linux only; elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(sign))


def this_process() -> str:
    """host:pid:start, which no other process has ever had."""
    return f"{_host()}:{os.getpid()}:{_start_of(os.getpid())}"


def owner_lives(worker: str) -> bool:
    """False only for a process of this very host that is certainly gone."""
    host, _, process = worker.rpartition(":")[0].rpartition(":")
    if host != _host() or not process.isdigit():
        return True
    return _start_of(int(process)) == worker.rpartition(":")[2]


@cache
def _host() -> str:
    """This host, boot and container: where a process id means the same process."""
    boot, namespace = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    place = boot.read_text() + os.readlink(namespace) if boot.exists() else ""
    return f"{socket.gethostname()[:60]}-{sha256(place.encode()).hexdigest()[:12]}"


def _start_of(pid: int) -> str:
    """When a process started, in whatever unit the system counts; empty when it is gone or a zombie."""
    if not Path("/proc/self/stat").exists():
        started = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True)
        return started.stdout.strip().replace(":", ".")
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]
