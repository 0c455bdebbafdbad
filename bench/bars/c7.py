"""C7: exactness. Sampler against learner, token by token; and whether hostile text ever moves a token."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def logprobs(work: Work, pair: int) -> Command:
    return Command("bench.sides.exactness", (json.dumps(dict(work.options)),))


def drift(work: Work, pair: int) -> Command:
    told = dict(work.options) | {"seed": pair}
    return Command("bench.sides.drift", (json.dumps(told),), timeout=1800)


BARS = (
    Bar(
        id="C7-logprobs",
        title="mean |Δ logprob| of a bf16 sampler against the fp32 learner, order-desk tries",
        unit="nats",
        must=1e-3,
        aim=0,
        ours=logprobs,
        score="own",
        pairs=1,
        options={"prompts": 32, "group": 8, "tokens": 96},
        small={"prompts": 3, "group": 2},
    ),
    Bar(
        id="C7-drift",
        title="hostile multi-turn transcripts in which a token moved, of 1,000",
        unit="transcripts",
        must=0,
        aim=0,
        ours=drift,
        score="own",
        pairs=1,
        options={"transcripts": 1000},
        small={"transcripts": 20},
    ),
)
