"""No room, no permission, the wrong kind of place: status 1, one line, what was there intact, nothing left over."""

import os
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpu_cli.cli.commands import mpu
from tests.cli.training import QUICK
from tests.folders import contents
from tests.full_disk import fill, largest_file

N = 1000  # so that what the commands write does not fit in what follows
ROOM = 8 * 1024
FILES = ("big.svm", "big.jsonl", "model.mpu")  # what is there, with the command's own OUT
COMMANDS = {
    "train": ("train", "big.svm", "-o", "OUT", *QUICK),
    "predict": ("predict", "model.mpu", "big.svm", "-o", "OUT", "--format", "scores"),
    "corrupt": ("corrupt", "big.svm", "OUT", "--missing-rate", "0.5"),
    "review": ("review", "big.svm", "-o", "OUT"),
    "vectorize": ("vectorize", "big.jsonl", "-o", "OUT"),
    "estimate-c": ("estimate-c", "big.svm", "--per-label", "-o", "OUT", "--folds", "2", "-q"),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Data with a feature an instance, and a model of them."""
    folder = tmp_path_factory.mktemp("prepared")
    lines = (f"{i % 50},{i % 50 + 50} {i + 1}:1\n" for i in range(N))
    (folder / "big.svm").write_text("".join(lines))
    (folder / "big.jsonl").write_text("".join(f'{{"text": "a word{i}", "tags": ["tag{i}"]}}\n' for i in range(N)))
    done = run_in(folder, ("train", "big.svm", "-o", "model.mpu", *QUICK))
    assert done.exit_code == 0, done.stderr
    return folder


def run_in(folder: Path, arguments) -> Result:
    kernel = [] if arguments[0] == "vectorize" else ["--kernel", "numpy"]
    with chdir(folder):
        return CliRunner().invoke(mpu, [*map(str, arguments), *kernel])


def place(prepared, name, folder) -> None:
    """Put an old file or model where the command writes."""
    if name.startswith("train"):
        shutil.copytree(prepared / "model.mpu", folder / "OUT")
    else:
        (folder / "OUT").write_text("old\n")


def fails(name, prepared, folder, reason) -> None:
    before = contents(folder)
    arguments = [str(prepared / word) if word in FILES else word for word in COMMANDS[name]]
    done = run_in(folder, arguments)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (done.exit_code, done.stdout) == (1, ""), done.stderr
    assert len(errors) == 1 and "OUT" in errors[0] and errors[0].count(reason) == 1, done.stderr
    assert done.stderr.endswith(f"{errors[0]}\n")
    assert contents(folder) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_no_larger_files_are_allowed(prepared, tmp_path, name):
    place(prepared, name, tmp_path)
    with largest_file(256 if name == "estimate-c" else ROOM):
        fails(name, prepared, tmp_path, "File too large")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "estimate-c"])
def test_the_disk_is_full(prepared, mounted, name):
    place(prepared, name, mounted)
    fill(mounted, ROOM)
    fails(name, prepared, mounted, "No space left on device")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_disk_is_read_only(prepared, mounted, name):
    place(prepared, name, mounted)
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    fails(name, prepared, mounted, "cannot be written")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_permission(prepared, tmp_path, name):
    place(prepared, name, tmp_path)
    for folder in (tmp_path, tmp_path / "OUT"):
        if folder.is_dir():
            folder.chmod(0o500)
    try:
        fails(name, prepared, tmp_path, "ermission denied")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["predict", "corrupt", "estimate-c", "review", "vectorize"])
def test_a_directory_where_a_file_belongs(prepared, tmp_path, name):
    (tmp_path / "OUT").mkdir()
    fails(name, prepared, tmp_path, "Is a directory")
