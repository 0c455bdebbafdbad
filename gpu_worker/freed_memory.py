"""Memory that was freed is kept for the next step, instead of being given back and asked for again.

A training step takes and frees the same hundreds of megabytes every time. glibc gives large pieces back to
the system at once, which then hands them out again page by page, each cleared first: an eighth of a step.
Where there is no glibc nothing is done.

Source: mallopt(3), malloc_trim(3).
"""

import ctypes
import sys

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
"""Names of mallopt's parameters in malloc.h."""
LARGEST = 2**31 - 1
PAD = 64 * 2**20
"""How much more than needed is asked for at a time."""


def keep() -> bool:
    """Keep what is freed from now on, in this process; whether this C library can."""
    libc = _glibc()
    if libc is None:
        return False
    wanted = {MMAP_THRESHOLD: 2**30, TRIM_THRESHOLD: LARGEST, TOP_PAD: PAD}
    return all([libc.mallopt(name, value) == 1 for name, value in wanted.items()])


def give_back() -> None:
    """Give what is kept and not in use back to the system."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
