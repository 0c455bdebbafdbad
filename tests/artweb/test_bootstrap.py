"""manage.py makes its environment once, repairs it, and says in one sentence why it cannot."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BASE_PYTHON = str(Path(sys._base_executable))  # type: ignore[attr-defined]
FAKE_DJANGO = """
import sys
def execute_from_command_line(argv):
    print("ran", argv[1:], sys.prefix)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one requirement: a tiny wheel that stands in for Django and needs no network."""
    directory = tmp_path / "project"
    directory.mkdir()
    shutil.copy(ROOT / "manage.py", directory)
    make_wheel(directory, "1.0")
    return directory


def make_wheel(directory: Path, version: str) -> None:
    name = f"tinydjango-{version}-py3-none-any.whl"
    info = f"tinydjango-{version}.dist-info"
    with zipfile.ZipFile(directory / name, "w") as wheel:
        wheel.writestr("django/__init__.py", "")
        wheel.writestr("django/core/__init__.py", "")
        wheel.writestr("django/core/exceptions.py", "class ImproperlyConfigured(Exception): pass")
        wheel.writestr("django/core/management.py", FAKE_DJANGO)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tinydjango\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    (directory / "requirements.txt").write_text(f"./{name}\n")


def manage(project: Path, *arguments: str, python: str = BASE_PYTHON) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1"}
    command = [python, str(project / "manage.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def test_a_bare_python_gets_an_environment_once_and_again_when_it_must_or_says_why_not(project: Path) -> None:
    first = manage(project, "greet", "--loud")
    assert first.returncode == 0, first.stderr
    assert "Installing ArtWeb's packages" in first.stdout
    assert f"ran ['greet', '--loud'] {project / '.venv'}" in first.stdout

    assert manage(project, "greet").stdout == f"ran ['greet'] {project / '.venv'}\n"
    inside = manage(project, "greet", python=str(project / ".venv" / "bin" / "python"))
    assert inside.stdout == f"ran ['greet'] {project / '.venv'}\n"

    (project / ".venv" / "installed").unlink()  # as after an installation that was interrupted
    (project / ".venv" / "bin" / "python").unlink()
    repaired = manage(project, "greet")
    assert "Installed." in repaired.stdout and "ran ['greet']" in repaired.stdout

    make_wheel(project, "2.0")
    assert "Installed." in manage(project, "greet").stdout
    assert "Installing" not in manage(project, "greet").stdout

    (project / "requirements.txt").write_text("no-such-package-anywhere==1.0\n")
    failed = manage(project, "greet")
    assert failed.returncode == 1
    assert failed.stderr.strip().splitlines()[-1].startswith("A package does not exist for this Python")
    assert not (project / ".venv" / "installed").exists()


@pytest.fixture
def door(project: Path) -> ModuleType:
    """manage.py as a module."""
    module = ModuleType("door")
    module.__file__ = str(project / "manage.py")
    exec((project / "manage.py").read_text(), module.__dict__)
    return module


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("The virtual environment was not created because ensurepip is not available", "python3-venv"),
        ("NewConnectionError: [Errno -3] Temporary failure in name resolution", "cannot be reached"),
        ("error: command 'gcc' failed: No such file or directory", "build-essential"),
        ("ERROR: Failed building wheel for something", "build-essential"),
        ("PermissionError: [Errno 13] Permission denied: '.venv'", "not writable"),
        ("ERROR: No matching distribution found for torch==2.13.0", "does not exist for this Python"),
        ("something nobody has seen", "the lines above say why"),
    ],
)
def test_every_known_failure_has_its_remedy(door: ModuleType, output: str, words: str) -> None:
    assert words in door.remedy(output)


def test_an_old_python_is_told_which_one_to_use(door: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 9))
    with pytest.raises(SystemExit, match="needs Python 3.11 or newer"):
        door.main()


def test_an_interpreter_that_has_every_pinned_package_is_used_as_it_is(
    door: ModuleType, project: Path
) -> None:
    (project / "requirements.txt").write_text("# tools\npytest==0.0.1\n")
    assert not door.packages_present()
    (project / "requirements.txt").write_text(f"# tools\npytest=={pytest.__version__}  # tests\n")
    assert door.packages_present()
    (project / "requirements.txt").write_text("not-installed-here==1\n")
    assert not door.packages_present()
