"""Which device a side computes on: BENCH_DEVICE, "cpu" unless a bar for CUDA says otherwise."""

from __future__ import annotations

import os

DEVICE = os.environ.get("BENCH_DEVICE", "cpu")
CUDA = DEVICE != "cpu"


def waited() -> None:
    """After everything the device was given has been computed."""
    if CUDA:
        import torch

        torch.cuda.synchronize()


def name() -> str:
    """The device's own name, "" for the processor."""
    if not CUDA:
        return ""
    import torch

    return str(torch.cuda.get_device_name())
