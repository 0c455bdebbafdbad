"""Imports point one way, and the heavy packages stay where they are named."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("gpu_worker", "judging", "training", "artweb")
"""Lowest first: each may import itself and what stands before it."""
WITHOUT_DJANGO = ("gpu_worker", "judging")
ONLY_IN = {
    "litellm": ("judging/llm.py", "judging/offline.py"),
    "channels.layers": ("training/runs/events.py", "training/runs/hub.py"),
    "vllm": ("gpu_worker/engines/vllm",),
    "unsloth": ("gpu_worker/trainers/unsloth",),
    "peft": ("gpu_worker/trainers/lora.py",),
    "sky": ("gpu_worker/cloud.py",),
}
LATE = {
    "training/runs/tasks.py": "training.runs",  # the task that loads the worker, and with it torch
    "training/authoring/office/tasks.py": "training.authoring",  # the task that loads the desk
    "artweb/management/commands/train.py": "training.runs",
    "gpu_worker/engines/embedded/directory.py": "huggingface_hub",  # only for models that are downloaded
}
"""The imports inside functions: by file, the package they are of."""
HEAVY = ("torch", "transformers", "peft", "litellm", "openai", "accelerate")


def modules() -> list[Path]:
    files = [path for layer in LAYERS for path in (ROOT / layer).rglob("*.py")]
    assert len(files) > 50
    return sorted(files)


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, with `from a import b` as a.b, and import_module("a") as a."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.ImportFrom(level=level) if level:
                raise AssertionError("relative imports hide which layer is meant")
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(module))]):
                yield module


def is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    place = str(path.relative_to(ROOT))
    layer = LAYERS.index(place.split("/")[0])
    tree = ast.parse(path.read_text())
    for module in imports(tree):
        above = [name for name in LAYERS[layer + 1 :] if is_of(module, name)]
        assert not above, f"{place} imports {module}, which stands above it"
        if LAYERS[layer] in WITHOUT_DJANGO:
            assert not any(is_of(module, name) for name in ("django", "celery", "channels", "redis"))
        for package, allowed in ONLY_IN.items():
            named_here = is_of(module, package) and not place.startswith(allowed)
            assert not named_here, f"{place} imports {module}; only {', '.join(allowed)} may"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_stand_at_the_top(path: Path) -> None:
    place = str(path.relative_to(ROOT))
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for module in imports(statement):
                expected = LATE.get(place)
                allowed = expected and is_of(module, expected) or place == "judging/llm.py"
                assert allowed, f"{place}:{statement.lineno} imports {module} inside {function.name}"


def test_the_web_process_loads_nothing_heavy() -> None:
    question = "import artweb.asgi, training.runs.tasks, sys; print([m for m in %r if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", question % (HEAVY,)],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "[]"
