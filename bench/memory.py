"""How much memory a piece of work needed at its peak, above what was held before. Standard library and torch.

On Linux the kernel keeps the peak of a process (VmHWM) and forgets it on request; on CUDA torch keeps it.
"""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path

FORGET_PEAK = "5"
"""What clear_refs takes to set VmHWM to the present size (proc(5))."""


class Peak:
    """Made before the work, asked after it. Raises OSError where the kernel does not tell."""

    def __init__(self, *, cuda: bool = False) -> None:
        self.cuda = cuda
        gc.collect()
        if cuda:
            import torch

            torch.cuda.reset_peak_memory_stats()
            self.base_mb = torch.cuda.memory_allocated() / 1e6
        else:
            _give_back()
            Path("/proc/self/clear_refs").write_text(FORGET_PEAK)
            self.base_mb = _status_mb("VmRSS")

    def megabytes(self) -> float:
        if self.cuda:
            import torch

            return torch.cuda.max_memory_allocated() / 1e6 - self.base_mb
        return _status_mb("VmHWM") - self.base_mb


def _give_back() -> None:
    """Let malloc return free pages, so that they are not reused unseen by the peak."""
    ctypes.CDLL(None).malloc_trim(0)


def _status_mb(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    if found is None:
        raise OSError(f"/proc/self/status has no {name}")
    return int(found[1]) * 1024 / 1e6
