"""A port for a server that is stopped and started again."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """Below those that the kernel gives to connections: nobody takes it while its server is away."""
    for port in random.sample(range(15_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
