"""Freed memory is taken again without asking the system, and is given back when told."""

import subprocess
import sys

import pytest

from gpu_worker import freed_memory

PROGRAM = """
import resource, torch
from gpu_worker import freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 2**20

def asked(times=5):
    before = faults()
    for _ in range(times):
        torch.ones(12_000_000)
    return faults() - before

asked()
left = asked()
assert freed_memory.keep()
asked(20)
kept, held = asked(), resident()
freed_memory.give_back()
print(left, kept, held - resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc can be told")
def test_what_was_freed_is_taken_again_without_new_pages_and_returned_when_told() -> None:
    """48 MB five times: new pages each time, or the same ones."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    left, kept, returned = map(int, done.stdout.split())
    assert kept < 2_000 < 20_000 < left
    assert returned > 40


def test_where_there_is_no_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not freed_memory.keep()
    freed_memory.give_back()
