"""How many bytes a log-probability function keeps for its backward pass.

    python -m bench.sides.kept_bytes '{"tokens": 1024, "vocabulary": 32768, "hidden": 256}' ours|art

Counted are the different storages among the tensors that autograd saves (torch's saved_tensors_hooks),
without the output matrix: it belongs to the model. A function that hid tensors elsewhere would escape; ours
saves all it needs the regular way. ART's function is taken as it stands from the file of the installed
package, whose module cannot be loaded without a GPU; nothing else of it is run.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

FUNCTION = "_calculate_logprobs"
FILE = "art/unsloth/train.py"
CHUNK = 1024
"""ART's own default of its chunk_size."""

Given = tuple[Tensor, Tensor, Tensor]
"""Hidden states [M, C], output matrix [V, C], target ids [M]."""


def given(options: dict[str, int]) -> Given:
    generator = torch.Generator().manual_seed(0)
    tokens, vocabulary, hidden = options["tokens"], options["vocabulary"], options["hidden"]
    states = torch.randn(tokens, hidden, generator=generator).requires_grad_()
    head = 0.05 * torch.randn(vocabulary, hidden, generator=generator)
    return states, head, torch.randint(vocabulary, (tokens,), generator=generator)


def ours(hidden_MC: Tensor, head_VC: Tensor, targets_M: Tensor) -> Tensor:
    from gpu_worker.packing import token_logprobs

    return token_logprobs(hidden_MC, head_VC, targets_M)[0]


def arts(hidden_MC: Tensor, head_VC: Tensor, targets_M: Tensor) -> Tensor:
    return _function_of_art()(head_VC.T, hidden_MC[None], targets_M[None], CHUNK)[0][0]


def _function_of_art() -> Callable[..., tuple[Tensor, Tensor]]:
    """The one function, compiled from the installed file."""
    files = metadata.files("openpipe-art") or []
    path = Path(str(next(file for file in files if str(file).endswith(FILE)).locate()))
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    scope: dict[str, Any] = {"torch": torch}
    exec(compile(tree, str(path), "exec"), scope)
    found: Callable[..., tuple[Tensor, Tensor]] = scope[FUNCTION]
    return found


def kept(function: Callable[[Tensor, Tensor, Tensor], Tensor], what: Given) -> dict[str, Any]:
    """Bytes kept, and the sums by which the two functions are seen to compute the same."""
    hidden_MC, head_VC, targets_M = what
    storages: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        logprobs_M = function(hidden_MC, head_VC, targets_M)
    storages.pop(head_VC.untyped_storage().data_ptr(), None)
    logprobs_M.sum().backward()
    assert hidden_MC.grad is not None
    return {
        "figure": sum(storages.values()) / 1e6,
        "logprobs": logprobs_M.sum().item() / len(targets_M),
        "gradient": hidden_MC.grad.norm().item(),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    functions = {"ours": ours, "art": arts}
    print(json.dumps(kept(functions[sys.argv[2]], given(json.loads(sys.argv[1])))))
