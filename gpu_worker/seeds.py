"""Where every random choice comes from: a hash of the job's seed and the place in the run.

Nothing here depends on time, on the process, or on the run's name in a database, so the same job with
the same seed makes the same choices on any day. Which generator a seed is fed to is the caller's choice.
"""

import hashlib
import random
from functools import lru_cache


def seed_for(job_seed: int, purpose: str, *place: int) -> int:
    """A 63-bit seed for one choice, e.g. seed_for(job.seed, "train", step, group, index, turn)."""
    text = "/".join([str(job_seed), purpose, *map(str, place)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@lru_cache(maxsize=4)
def shuffled(count: int, seed: int) -> tuple[int, ...]:
    """The numbers 0 … count - 1 in an order that the seed decides."""
    return tuple(random.Random(seed).sample(range(count), count))
