"""Checkpoints: whole or not there, whatever happens to the disk or the process."""

import json
import random
import shutil
from pathlib import Path

import pytest

from gpu_worker import checkpoints
from gpu_worker.checkpoints import Broken, DiskFull, newest_verified, prune, verified, write
from gpu_worker.position import Position
from gpu_worker.types import CheckpointFile, Evaluation, Outcome, StepDone


def save_files(directory: Path) -> None:
    (directory / "adapter_model.safetensors").write_bytes(b"weights of an adapter")
    (directory / "optimizer.safetensors").write_bytes(b"moments")


def written(root: Path, step: int) -> CheckpointFile:
    return write(root, step, save_files, lambda file: {"step": step, "sha256": file.sha256})


def test_what_was_written_is_found_and_verified(tmp_path: Path) -> None:
    file = written(tmp_path / "run", 3)
    found, rejected = newest_verified(tmp_path / "run")
    assert rejected == []
    assert found is not None
    assert found.file == file
    assert found.state == {"step": 3, "sha256": file.sha256}
    assert file.bytes == len(b"weights of an adapter")
    assert Path(file.directory).name == "000003"


def test_an_empty_or_missing_directory_holds_no_checkpoint(tmp_path: Path) -> None:
    assert newest_verified(tmp_path / "nothing") == (None, [])


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "state.json", "manifest.json"])
def test_any_flipped_byte_is_seen_and_the_checkpoint_before_is_taken(tmp_path: Path, name: str) -> None:
    written(tmp_path, 1)
    written(tmp_path, 2)
    path = tmp_path / "000002" / name
    good = path.read_bytes()
    rng = random.Random(name)
    for at in rng.sample(range(len(good)), min(40, len(good))):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1 :])
        found, rejected = newest_verified(tmp_path)
        assert found is not None and found.file.step == 1
        assert len(rejected) == 1 and rejected[0].startswith("Checkpoint 000002 was rejected: ")
    path.write_bytes(good)
    assert newest_verified(tmp_path)[1] == []


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "optimizer.safetensors", "manifest.json"])
def test_a_file_cut_short_or_missing_is_seen(tmp_path: Path, name: str) -> None:
    written(tmp_path, 2)
    path = tmp_path / "000002" / name
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(Broken):
            verified(path.parent)
    path.unlink()
    with pytest.raises(Broken, match="cannot be read"):
        verified(path.parent)


def test_a_checkpoint_under_another_steps_name_is_rejected(tmp_path: Path) -> None:
    written(tmp_path, 2)
    (tmp_path / "000002").rename(tmp_path / "000009")
    found, (why,) = newest_verified(tmp_path)
    assert found is None
    assert "step 2" in why


def test_a_process_that_dies_while_writing_leaves_nothing_that_is_chosen(tmp_path: Path) -> None:
    written(tmp_path, 1)

    def dies(directory: Path) -> None:
        save_files(directory)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, 2, dies, lambda file: {})
    assert (tmp_path / ".aside-000002").exists()
    found, rejected = newest_verified(tmp_path)
    assert found is not None and found.file.step == 1 and rejected == []
    written(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000002"]


def test_a_full_disk_is_said_in_a_sentence_and_keeps_what_was_there(tmp_path: Path) -> None:
    written(tmp_path, 1)

    def onto_full_disk(directory: Path) -> None:
        (directory / "adapter_model.safetensors").symlink_to("/dev/full")
        checkpoints.write_bytes(directory / "adapter_model.safetensors", b"weights")

    with pytest.raises(DiskFull, match=r"disk is full: the checkpoint of step 2 .* Make room and resume"):
        write(tmp_path, 2, onto_full_disk, lambda file: {})
    assert [path.name for path in tmp_path.iterdir()] == ["000001"]


def test_a_rejected_checkpoint_is_replaced_when_its_step_is_played_again(tmp_path: Path) -> None:
    written(tmp_path, 1)
    (tmp_path / "000001" / "manifest.json").unlink()
    assert newest_verified(tmp_path)[0] is None
    written(tmp_path, 1)
    assert newest_verified(tmp_path)[1] == []


def test_only_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    for step in range(6):
        written(tmp_path, step)
    prune(tmp_path, newest=2, besides=[1, 77])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000004", "000005"]


def test_other_directories_are_left_alone(tmp_path: Path) -> None:
    written(tmp_path, 1)
    shutil.copytree(tmp_path / "000001", tmp_path / "keep")
    prune(tmp_path, newest=1, besides=[])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "keep"]


def test_a_position_comes_back_from_its_json_to_the_last_digit() -> None:
    file = CheckpointFile(7, "/runs/x/000007", "ab", 12)
    evaluation = Evaluation("baseline", 0, "test", (Outcome("s1", True, 0.1), Outcome("s2", False, 1 / 3)))
    report = StepDone(7, {"reward": 1 / 3, "loss": -0.1}, {2: (0.1, -0.1), 11: (1.5, -1.5)}, file)
    position = Position(7, 112, 900, 12.345678901, evaluation, (5, 0.75), report)
    assert Position.from_json(json.loads(json.dumps(position.to_json())), file) == position
    assert Position.from_json(json.loads(json.dumps(Position().to_json())), file) == Position()


def test_the_first_of_two_equally_good_validations_is_the_best() -> None:
    def validation(step: int, success: bool) -> Evaluation:
        return Evaluation("validation", step, "val", (Outcome("s", success, 0.0),))

    position = Position().with_validation(validation(10, False))
    assert position.best == (10, 0.0)
    position = position.with_validation(validation(20, True)).with_validation(validation(30, True))
    assert position.best == (20, 1.0)
    assert position.trajectories == 3
