"""Transcripts in which people, tools and the model say the worst things: does any token move between turns?

    python -m bench.sides.drift '{"transcripts": 1000, "seed": 0}'

Every prompt must be a fresh rendering of the conversation, or exactly what was seen and what the template
adds to it; how often it was the latter is told beside the figure, the transcripts with a prompt that is
neither. The generator, and what counts as wrong, is tests/gpu_worker/hostile.py.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.directory import locate
from tests.gpu_worker import hostile


def drifted(options: dict[str, int]) -> dict[str, Any]:
    outcome = hostile.played(Chat(locate("embedded")), options["transcripts"], options["seed"])
    return {
        "figure": len({drift.partition(",")[0] for drift in outcome.drifts}),
        "transcripts": options["transcripts"],
        "prompts": outcome.prompts,
        "extended": outcome.extended,
        "drifts": outcome.drifts[:5],
    }


if __name__ == "__main__":
    print(json.dumps(drifted(json.loads(sys.argv[1]))))
