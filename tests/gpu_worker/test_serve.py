"""The model server as a process, asked over its socket like the web process asks it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.tiny_adapter import build_adapter

KEY = "a-key-of-the-model-server"
ROOT = Path(__file__).resolve().parents[2]
HELLO = [{"role": "user", "content": "Where is my order?"}]


class Server:
    """A running model server and a client that has its key."""

    def __init__(self, home: Path) -> None:
        self.socket = home / "run" / "model.sock"
        self.allowed = home / "allowed"
        self.allowed.mkdir(parents=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gpu_worker.serve", "--socket", self.socket, "--allow", self.allowed],
            cwd=ROOT,
            env={**os.environ, "ARTWEB_MODEL_KEY": KEY, "OMP_NUM_THREADS": "1"},
        )
        self.client = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self.socket)),
            base_url="http://model-server",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=60,
        )
        self.model = ""

    def wait(self) -> None:
        for _ in range(1200):
            try:
                self.client.get("/health").raise_for_status()
                return
            except httpx.TransportError:
                assert self.process.poll() is None
                time.sleep(0.1)
        raise TimeoutError("The model server does not answer.")

    def body(self, **fields: Any) -> dict[str, Any]:
        sampling = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 12, "seed": 7, "stop": []}
        sampling |= fields.pop("sampling", {})
        return {"base_model": self.model, "adapter": None, "messages": HELLO, "sampling": sampling, **fields}

    def ask(self, **fields: Any) -> list[dict[str, Any]]:
        response = self.client.post("/chat", json=self.body(**fields))
        assert response.status_code == 200, response.text
        found: list[dict[str, Any]] = response.json()["answers"]
        return found

    def refusal(self, status: int, **fields: Any) -> dict[str, Any]:
        response = self.client.post("/chat", json=self.body(**fields))
        assert response.status_code == status, response.text
        error: dict[str, Any] = response.json()["error"]
        return error

    def events(self, **fields: Any) -> list[dict[str, Any]]:
        with self.client.stream("POST", "/chat", json=self.body(stream=True, **fields)) as response:
            assert response.status_code == 200
            return [json.loads(line) for line in response.iter_lines()]


@pytest.fixture(scope="module")
def server(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("serve"))
    server.model = str(server.allowed / "tiny")
    shutil.copytree(tiny_model, server.model)
    try:
        server.wait()
        yield server
    finally:
        server.client.close()
        server.process.terminate()
        assert server.process.wait(60) == 0


def adapter(server: Server, name: str, seed: int) -> Path:
    return build_adapter(server.allowed / name, Path(server.model), seed=seed)


def said(answers: list[dict[str, Any]]) -> list[Any]:
    """Answers without the ids of their calls, which are new each time."""
    return [{**answer, "tool_calls": len(answer["tool_calls"])} for answer in answers]


def test_only_the_owner_may_open_the_socket(server: Server) -> None:
    assert stat.S_IMODE(server.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", f"Bearer {KEY.upper()}", f"Basic {KEY}"])
def test_without_the_key_nothing_is_told(server: Server, header: str) -> None:
    for path in ("/chat", "/health", "/elsewhere"):
        response = server.client.request("POST", path, headers={"Authorization": header}, json={})
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "wrong_key"


def test_it_answers_with_text_usage_and_why_it_ended(server: Server) -> None:
    [answer] = server.ask()
    assert answer["finish"] in ("stop", "length")
    assert 1 <= answer["completion_tokens"] <= 12 and answer["prompt_tokens"] > 10
    assert answer["tokens"] == []


def test_the_same_seed_says_the_same_and_another_something_else(server: Server) -> None:
    first, again, other = (server.ask(sampling={"seed": seed}) for seed in (7, 7, 8))
    assert said(first) == said(again) != said(other)


def test_several_answers_differ_and_are_as_repeatable(server: Server) -> None:
    three = server.ask(n=3)
    assert len({answer["text"] for answer in three}) == 3
    assert said(server.ask(n=3)) == said(three)
    assert said(server.ask())[0] == said(three)[0]


def test_temperature_zero_takes_the_likeliest_token_whatever_the_seed(server: Server) -> None:
    cold = [said(server.ask(sampling={"temperature": t, "seed": s})) for t, s in ((0, 1), (1e-30, 2))]
    assert cold[0] == cold[1]


def test_logprobs_come_with_each_token_and_its_bytes(server: Server) -> None:
    [answer] = server.ask(logprobs=True)
    assert all(token["logprob"] <= 0 for token in answer["tokens"])
    spelled = b"".join(bytes(token["bytes"]) for token in answer["tokens"])
    assert spelled.decode(errors="replace").strip() == answer["text"]
    assert answer["completion_tokens"] - len(answer["tokens"]) in (0, 1)  # the end of the turn


def test_a_stop_text_ends_the_answer_before_it(server: Server) -> None:
    [whole] = server.ask(sampling={"max_tokens": 30})
    middle = whole["text"][len(whole["text"]) // 2]
    [cut] = server.ask(sampling={"max_tokens": 30, "stop": [middle]})
    assert cut["finish"] == "stop" and cut["text"] == whole["text"].split(middle)[0].strip()


def test_a_stream_says_the_same_piece_by_piece(server: Server) -> None:
    whole = server.ask(n=2, sampling={"max_tokens": 30})
    events = server.events(n=2, sampling={"max_tokens": 30})
    assert len(events) > 4
    for index in (0, 1):
        mine = [event for event in events if event["index"] == index]
        assert "".join(event.get("text", "") for event in mine) == whole[index]["text"]
        assert said([mine[-1]["answer"]]) == said([whole[index]])


def test_without_a_limit_it_may_use_the_whole_context(server: Server) -> None:
    [answer] = server.ask(sampling={"max_tokens": None})
    assert answer["finish"] == "stop" or answer["completion_tokens"] + answer["prompt_tokens"] >= 2048


def test_a_conversation_that_does_not_fit_is_refused_also_in_a_stream(server: Server) -> None:
    long = [{"role": "user", "content": "order " * 3000}]
    for stream in (False, True):
        error = server.refusal(400, messages=long, stream=stream)
        assert error["code"] == "context_length_exceeded" and "reads at most 2048" in error["message"]


def test_a_conversation_that_the_template_refuses_is_the_callers_fault(server: Server) -> None:
    strict = server.allowed / "strict"
    shutil.copytree(server.model, strict)
    (strict / "chat_template.jinja").write_text("{{ raise_exception('users first') }}")
    error = server.refusal(400, base_model=str(strict))
    assert error["code"] == "conversation_refused" and "users first" in error["message"]


def test_an_adapter_is_loaded_on_demand_and_proven(server: Server) -> None:
    directory = adapter(server, "first", 1)
    sha256 = hashlib.sha256((directory / "adapter_model.safetensors").read_bytes()).hexdigest()
    base = server.ask()
    tuned = server.ask(adapter=str(directory), adapter_sha256=sha256)
    assert said(tuned) != said(base)
    assert said(server.ask()) == said(base)
    assert said(server.ask(adapter=str(directory))) == said(tuned)


def test_two_adapters_at_once_answer_as_each_does_alone(server: Server) -> None:
    directories = [str(adapter(server, name, seed)) for name, seed in (("red", 2), ("blue", 3))]
    alone = [said(server.ask(adapter=directory)) for directory in directories]
    assert alone[0] != alone[1]
    wanted = [directories[i % 2] for i in range(12)]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda directory: said(server.ask(adapter=directory)), wanted))
    assert together == [alone[i % 2] for i in range(12)]


def test_changed_missing_and_broken_adapters_are_told_apart(server: Server) -> None:
    directory = adapter(server, "fragile", 4)
    sha256 = hashlib.sha256((directory / "adapter_model.safetensors").read_bytes()).hexdigest()
    server.ask(adapter=str(directory), adapter_sha256=sha256)
    adapter(server, "fragile", 5)
    error = server.refusal(409, adapter=str(directory), adapter_sha256=sha256)
    assert error["code"] == "adapter_changed"
    (directory / "adapter_model.safetensors").write_bytes(b"not safetensors")
    assert server.refusal(404, adapter=str(directory))["code"] == "model_unusable"
    shutil.rmtree(directory)
    assert server.refusal(404, adapter=str(directory))["code"] == "adapter_missing"
    server.ask()


def test_paths_outside_the_allowed_directories_are_refused(server: Server, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(server.model, outside)
    link = server.allowed / "link"
    link.symlink_to(outside)
    for path in (outside, link, server.allowed / ".." / ".." / "outside", "/etc"):
        assert server.refusal(403, base_model=str(path))["code"] == "not_allowed"
        assert server.refusal(403, adapter=str(path))["code"] == "not_allowed"


def test_an_unusable_model_is_refused_in_a_sentence(server: Server) -> None:
    missing = server.refusal(404, base_model=str(server.allowed / "none"))
    assert missing["code"] == "model_unusable" and "no model directory" in missing["message"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"messages": 1}', b'{"base_model": "embedded", "messages": [1]}']
)
def test_a_body_that_cannot_be_read_is_refused(server: Server, body: bytes) -> None:
    response = server.client.post("/chat", content=body)
    assert response.status_code == 400 and response.json()["error"]["code"] == "bad_request"


def test_a_client_that_goes_away_frees_the_engine(server: Server) -> None:
    """Cancelled long answers would otherwise keep another adapter waiting for its turn."""
    directory = str(adapter(server, "patient", 6))
    server.ask(adapter=directory)
    long = server.body(stream=True, n=16, sampling={"max_tokens": None, "temperature": 2.0})
    with server.client.stream("POST", "/chat", json=long) as response:
        next(response.iter_lines())
    started = time.monotonic()
    server.ask(adapter=directory)
    assert time.monotonic() - started < 5


def test_it_stays_light(server: Server) -> None:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
    assert resident < 450, f"{resident:.0f} MB"


def test_without_a_key_it_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpu_worker.serve", "--socket", str(tmp_path / "s")]
    environment = {name: value for name, value in os.environ.items() if name != "ARTWEB_MODEL_KEY"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "ARTWEB_MODEL_KEY is missing" in ended.stderr
