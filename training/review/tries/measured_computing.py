"""Computes what a checkpoint makes of the tokens of a try: the program behind the errand "measure".

`python -m training.review.tries.measured_computing MEASUREMENT`: a process of its own, so that nobody keeps
torch in memory afterwards. It writes JSON lines: {"what", "done", "total"} in tokens as it goes on, at last
{"result"} or {"failed"}. It stores nothing; that is the errand's business (measured.py).

Tokens go through the learner's own packing and attention, one pass per segment, so a number here is the one
that learning from this try by these weights would begin with.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import django  # noqa: E402

django.setup()

import torch  # noqa: E402

from gpu_worker import checkpoints  # noqa: E402
from gpu_worker.engines.embedded.adapter import Swappable  # noqa: E402
from gpu_worker.engines.embedded.decoder import Decoder  # noqa: E402
from gpu_worker.engines.embedded.directory import ModelError, locate  # noqa: E402
from gpu_worker.packing import attention_over, packs, token_logprobs  # noqa: E402
from gpu_worker.types import Segment  # noqa: E402
from training.models import Measurement  # noqa: E402
from training.review.tries.measured import Values  # noqa: E402
from training.review.tries.replay import checkpoint_of  # noqa: E402
from training.runs import rows  # noqa: E402

IN_WORDS = (ModelError, checkpoints.Broken, ValueError)
"""Errors that say themselves what went wrong."""


def decoder_of(measurement: Measurement) -> Decoder:
    """The run's model with the checkpoint's weights, every byte of them verified."""
    decoder = Decoder.load(locate(measurement.trajectory.run.config.get("base_model", "embedded")))
    if measurement.step:
        directory = checkpoint_of(measurement.trajectory.run_id, measurement.step)
        if directory is None:
            raise ValueError(f"The files of the checkpoint of step {measurement.step} are gone.")
        checkpoints.verified(directory)
        Swappable(decoder).use(directory)
    return decoder


@torch.inference_mode()
def values_of(decoder: Decoder, segment: Segment) -> Values:
    """Log-probability and entropy of each token of a segment, in nats at temperature 1; None where it was
    not drawn."""
    logprobs: list[float | None] = [None] * len(segment.ids)
    entropies = list(logprobs)
    drawn = [place for place, one in enumerate(segment.mask) if one]
    for pack in packs([(segment, 0.0)], len(segment.ids)):
        hidden_NC = decoder(pack.ids_N, pack.positions_N, attention_over(pack.edges))
        head = decoder.model.embed_tokens if decoder.shape.tied else decoder.lm_head
        logprobs_M, entropy_M = token_logprobs(hidden_NC[pack.predictors_M], head.weight, pack.targets_M)
        for column, values_M in ((logprobs, logprobs_M), (entropies, entropy_M.clamp_(min=0.0))):
            for place, value in zip(drawn, values_M[pack.row_T].tolist(), strict=True):
                column[place] = float(f"{value:.7g}")
    return {"logprobs": logprobs, "entropies": entropies}


def computed(decoder: Decoder, segments: Sequence[Mapping[str, Any]]) -> Iterator[Values]:
    """Of each segment as it is stored, one after the other."""
    done, total = 0, sum(len(segment["ids"]) for segment in segments)
    for segment in segments:
        tell(what="measuring", done=done, total=total)
        ids = tuple(segment["ids"])
        yield values_of(decoder, Segment(ids, (0.0,) * len(ids), tuple(map(bool, segment["mask"]))))
        done += len(ids)


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main(measurement_id: int) -> None:
    torch.set_num_threads(1)
    beside = ("trajectory__record", "trajectory__run")
    measurement = Measurement.objects.select_related(*beside).get(pk=measurement_id)
    tell(what="loading", done=0, total=0)
    try:
        decoder = decoder_of(measurement)
        tell(result=rows.plain(list(computed(decoder, measurement.trajectory.record.segments))))
    except IN_WORDS as error:
        tell(failed=str(error))


if __name__ == "__main__":
    main(int(sys.argv[1]))
