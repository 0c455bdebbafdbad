"""Learns all weights of a decoder: linear layers, norms, embedding, head. A job asks for it by lora_rank 0.

How they learn is `learner.py`'s business. A checkpoint has them whole in Hugging Face's own file.
"""

import json
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor

from gpu_worker.checkpoints import WHOLE, WHOLE_CONFIG, write_bytes
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.trainers.learner import Learner
from gpu_worker.types import Job


class FullTrainer(Learner):
    """Implements types.Trainer. `workers` threads compute micro-batches; their number changes no result.

    Raises ValueError for a job whose algorithm makes no sense.
    """

    def __init__(
        self, model: str | Path, job: Job, *, workers: int | None = None, device: str = "cpu"
    ) -> None:
        base = Decoder.load(model).to(device)
        policy = Decoder(base.shape)
        policy.frequencies = base.frequencies
        policy.load_state_dict({n: x.clone() for n, x in base.state_dict().items()}, assign=True)
        policy.requires_grad_(True)
        self.model = str(model)
        self._copies: dict[str, Tensor] = {}
        super().__init__(base, policy, dict(policy.named_parameters()), job, workers)

    def weights(self) -> dict[str, Tensor]:
        """All weights, fp32, by parameter name: copies, made once after each update."""
        if not self._copies:
            self._copies = {name: p.detach().clone() for name, p in self.parameters.items()}
        return self._copies

    def _updated(self) -> None:
        self._copies = {}

    def save(self, directory: Path) -> None:
        """All weights, AdamW's moments and the random state; safetensors and JSON only."""
        weights = {name: p.detach() for name, p in self.parameters.items()}
        write_bytes(directory / WHOLE, save(weights, {"format": "pt"}))
        config = {"base_model_name_or_path": self.model, "weights": WHOLE}
        write_bytes(directory / WHOLE_CONFIG, (json.dumps(config, indent=2) + "\n").encode())
        self._save_state(directory)

    def load(self, directory: Path) -> None:
        """Take up exactly where `save` left off. The caller has verified the files."""
        self._load(directory, load_file(directory / WHOLE))
