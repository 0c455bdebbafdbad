"""Hostile functions: each must end with a refusal or harmless text, and leave the host as it was."""

import os
import time
from pathlib import Path

import pytest

from gpu_worker.tools.python import sandbox
from gpu_worker.tools.python.limits import MEMORY
from gpu_worker.tools.python.sandbox import CodeFailed, run

SECRET = "canary-7f3a"

READING = (
    "return open('/etc/passwd').read()",
    "return open('{canary}').read()",
    "import pathlib\n    return pathlib.Path('/etc/passwd').read_text()",
    "import pathlib\n    return [str(p) for p in pathlib.Path('/').iterdir()]",
    "import os\n    return os.environ['{variable}']",
    "import os\n    return dict(os.environ)",
    "import os\n    return os.getenv('{variable}')",
    "import os\n    return os.listdir('/')",
    "return open('/proc/self/environ').read()",
    "return open('/proc/1/environ').read()",
    "return open('/proc/self/maps').read()",
    "return open('/dev/mem', 'rb').read(10)",
    "return open(0).read()",
    "return __file__ + open(__file__).read()",
)
WRITING = (
    "open('{canary}', 'w').write('gone')",
    "open('{marker}', 'w').write('here')",
    "import pathlib\n    pathlib.Path('{marker}').write_text('here')",
    "import pathlib\n    pathlib.Path('{marker}').mkdir()",
    "import os\n    os.remove('{canary}')",
    "import os\n    os.rename('{canary}', '{marker}')",
    "import os\n    os.system('touch {marker}')",
    "import os\n    os.popen('touch {marker}').read()",
    "import os\n    os.symlink('/etc/passwd', '{marker}')",
    "import shutil\n    shutil.rmtree('/tmp')",
)
REACHING_OUT = (
    "import socket\n    socket.create_connection(('127.0.0.1', 80))",
    "import urllib.request\n    return urllib.request.urlopen('http://127.0.0.1').read()",
    "import http.client\n    return 1",
    "import subprocess\n    return subprocess.run(['id'], capture_output=True).stdout",
    "import ctypes\n    return ctypes.CDLL(None).getpid()",
    "import multiprocessing\n    return 1",
    "import threading\n    return 1",
    "import os\n    return os.fork()",
    "import os\n    os.kill(1, 9)",
    "import signal\n    return 1",
    "import importlib\n    return importlib.import_module('os').system('id')",
    "return __import__('os').system('id')",
    "import pickle\n    return pickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')",
    "import sys\n    return sys.modules['os'].system('id')",
)
CLIMBING_OUT = (
    "return ().__class__.__bases__[0].__subclasses__()",
    "return run.__globals__",
    "return (lambda: 0).__code__.co_consts",
    "return [].__class__.__mro__[1].__subclasses__()",
    "return ''.__class__.__init__.__globals__",
    "return type('X', (object,), {{}})",
    "return eval(\"__import__('os').getcwd()\")",
    "exec(\"import os; os.system('id')\")",
    "return compile('1', 'x', 'eval')",
    "return globals()['__builtins__']",
    "import gc\n    return gc.get_objects()",
    "import inspect\n    return inspect.stack()",
    "return '{{0.__class__.__init__.__globals__}}'.format(run)",
)
WEARING_OUT = (
    "while True: pass",
    "return 'x' * 10**10",
    "return [0] * 10**10",
    "return 9 ** 9 ** 9",
    "return ','.join(['x' * 1000] * 10**6)",
    "return run()",
    "x = []\n    while True: x.append('x' * 1000)",
    "return list(range(10**10))",
    "import time\n    time.sleep(3600)",
    "import re\n    return bool(re.match('(a+)+$', 'a' * 40 + 'b'))",
    "while True: print('x' * 1000)",
    "return int('9' * 10**7)",
    "return str(10 ** 10**7)",
    "d = {{}}\n    while True: d = {{'d': d, 'e': [d] * 1000}}",
    "return sorted(range(10**9), key=lambda n: -n)",
    "x = []\n    x.append(x)\n    return x",
)
ATTACKS = READING + WRITING + REACHING_OUT + CLIMBING_OUT + WEARING_OUT


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Something to steal, and a place that must stay empty."""
    canary = tmp_path / "canary.txt"
    canary.write_text(SECRET)
    os.chmod(canary, 0o644)
    monkeypatch.setenv("ARTWEB_CANARY", SECRET)
    return {"canary": str(canary), "marker": str(tmp_path / "marker"), "variable": "ARTWEB_CANARY"}


def test_there_are_enough_attacks() -> None:
    assert len(set(ATTACKS)) == len(ATTACKS) >= 52


@pytest.mark.parametrize("body", ATTACKS)
def test_an_attack_is_contained(body: str, host: dict[str, str]) -> None:
    code = f"def run():\n    {body.format(**host)}\n"
    began = time.monotonic()
    try:
        said = run(code, "run", {}).text
    except CodeFailed as failed:
        said = str(failed)
    assert time.monotonic() - began < 20, "a limit did not hold"
    assert SECRET not in said and "root:" not in said and "uid=" not in said
    assert Path(host["canary"]).read_text() == SECRET
    assert not Path(host["marker"]).exists()


def test_no_attack_leaves_the_interpreter_unusable() -> None:
    assert run("def f():\n    return 1 + 1\n", "f", {}).text == "2"


def test_nothing_survives_from_one_call_to_the_next() -> None:
    leave = "import json\ndef f():\n    global kept\n    kept = 'secret'\n    json.kept = 1\n    return 1\n"
    look = "import json\ndef f():\n    return [name for name in ('kept',) if name in globals()] + dir(json)\n"
    for code in (leave, look):
        try:
            said = run(code, "f", {}).text
        except CodeFailed as failed:
            said = str(failed)
    assert "kept" not in said and "secret" not in said


def test_arguments_are_data_and_never_code() -> None:
    code = "def f(text: str):\n    return text\n"
    hostile = "');__import__('os').system('id')#\n{}\\"
    assert run(code, "f", {"text": hostile}).text == hostile


def test_the_launcher_takes_rights_away_where_the_kernel_lets_it() -> None:
    layers = sandbox.layers()
    assert layers["limits"] and layers["no new rights"]
    assert set(layers) == {"limits", "no new rights", "files and network", "nobody", "system calls"}


def test_memory_stays_near_its_limit() -> None:
    with pytest.raises(CodeFailed, match="(?i)memory"):
        run("def f():\n    x = []\n    while True: x.append('x' * 100_000)\n", "f", {})
    assert MEMORY == 32 * 1024 * 1024
