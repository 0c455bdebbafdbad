"""What ArtWeb's learner makes of recorded tries, one at a time: their log-probabilities."""

from __future__ import annotations

import torch

from gpu_worker.packing import attention_over, packs, token_logprobs
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Segment


def learned_logprobs(trainer: LoraTrainer, line: Segment) -> list[float]:
    """The log-probability of each sampled id of one segment, by the learner's own layout and attention."""
    policy = trainer.policy
    head_VC = policy.model.embed_tokens.weight if policy.shape.tied else policy.lm_head.weight
    pack = packs([(line, 0.0)], len(line.ids))[0].to(head_VC.device)
    with torch.no_grad():
        hidden_NC = policy(pack.ids_N, pack.positions_N, attention_over(pack.edges))
        logprobs_M, _ = token_logprobs(hidden_NC[pack.predictors_M], head_VC, pack.targets_M)
    return [float(value) for value in logprobs_M[pack.row_T]]
