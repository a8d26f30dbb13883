"""Standard streams that are full, closed, or of another encoding: a lost report is an error, a lost log line is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.training import ALONE, QUICK, TINY
from tests.conftest import ROOT
from tests.slow import slow

PLAIN = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
NO_ROOM = "standard output: cannot be written: No space left on device\n"
REPORTS = {
    "train": ("train", "tiny.svm", "-o", "new.mpu", *QUICK, *ALONE),
    "train --json": ("train", "tiny.svm", "-o", "new.mpu", *QUICK, *ALONE, "--json"),
    "predict": ("predict", "tiny.mpu", "tiny.svm", *ALONE),
    "evaluate": ("evaluate", "tiny.svm", "tiny.tags", *ALONE),
    "evaluate --json": ("evaluate", "tiny.svm", "tiny.tags", *ALONE, "--json"),
    "estimate-c": ("estimate-c", "tiny.svm", "--folds", "2", *ALONE),
    "corrupt": ("corrupt", "tiny.svm", "--missing-rate", "0.5"),
    "--help": ("--help",),
    "train --help": ("train", "--help"),
    "--version": ("--version",),
}
SAVED = dict.fromkeys(("train", "train --json"), "new.mpu is saved, but ")
COMPLETION = {"_MPU_COMPLETE": "bash_source"}
needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
# Forked from a process that has loaded what it needs, or of its own, as a shell starts it.
kinds = pytest.mark.parametrize("kind", ["forked", *slow("buffered", "unbuffered")])


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Data, a model of them, and predictions."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "tiny.svm").write_text(TINY)
    (folder / "tiny.tags").write_text("1\n2\n1,2\n3\n\n")
    run.ok("train", folder / "tiny.svm", "--quiet", *QUICK)
    return folder


@pytest.fixture
def to_full_device(start, folder):
    """Run a command whose standard output goes to a disk that is full; give what it says, and the status."""

    def go(kind: str, arguments) -> tuple[str, int]:
        if kind == "forked":
            with open("/dev/full", "wb") as full:  # noqa: PTH123
                return start(*arguments, redirected=full.fileno(), cwd=folder).end()[1:]
        done = shell(folder, arguments, "> /dev/full", **{"PYTHONUNBUFFERED": "1"} if kind == "unbuffered" else {})
        return done.stderr, done.returncode

    return go


def shell(folder, arguments, redirection="", stdout=subprocess.PIPE, **environment) -> subprocess.CompletedProcess:
    """Run ``mpu`` as a shell does, with a redirection and nothing of the environment of the tests."""
    command = ["sh", "-c", f'exec "$0" -m mpu_cli "$@" {redirection}', sys.executable, *map(str, arguments)]
    given = {"stdout": stdout, "env": {"PYTHONPATH": str(ROOT), **PLAIN, **environment}, "timeout": 60}
    return subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, **given)


@needs_full_device
@kinds
@pytest.mark.parametrize("name", REPORTS)
def test_a_full_disk_under_standard_output_is_one_line(to_full_device, kind, name):
    said, status = to_full_device(kind, REPORTS[name])
    assert (status, said.splitlines(keepends=True)[-1]) == (1, f"error: {SAVED.get(name, '')}{NO_ROOM}")
    assert said.count("error") == 1


@needs_full_device
@kinds
def test_a_full_disk_under_standard_output_harms_nothing_where_there_is_no_report(to_full_device, kind):
    assert to_full_device(kind, (*REPORTS["train"], "--quiet")) == ("", 0)


@pytest.mark.parametrize("name", ["--help", *slow(*(name for name in REPORTS if name != "--help"))])
def test_a_closed_standard_output_is_an_error_where_there_is_a_report(folder, name):
    done = shell(folder, REPORTS[name], ">&-")
    line = f"error: {SAVED.get(name, '')}standard output: cannot be written: Bad file descriptor"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, line)


@pytest.mark.slow  # processes of their own
def test_a_closed_standard_input_is_an_error(folder):
    done = shell(folder, ("corrupt", "-", "--missing-rate", "0", "-q", *ALONE), "<&-")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("error: standard input: cannot be ")


@needs_full_device
@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full", "2>&- >&- <&-"])
@pytest.mark.parametrize("options", [(), ("--log-format", "json"), ("--verbose",)], ids=" ".join)
def test_a_lost_log_line_does_not_cost_the_model(run, folder, tmp_path, redirection, options, unbuffered):
    arguments = ("train", folder / "tiny.svm", "-o", tmp_path / "new.mpu", *QUICK, *ALONE, *options)
    if ">&- " in redirection:
        arguments += ("--quiet",)
    assert shell(tmp_path, arguments, redirection, PYTHONUNBUFFERED=unbuffered).returncode == 0
    run.ok("predict", tmp_path / "new.mpu", folder / "tiny.svm")


@pytest.mark.parametrize("redirection", ["2>&-", *slow("2> /dev/full")])
@pytest.mark.parametrize(("arguments", "status"), [(("predict",), 2), *slow((("predict", "none.mpu", "tiny.svm"), 1))])
def test_the_status_of_a_failure_does_not_depend_on_who_hears_of_it(folder, redirection, arguments, status):
    assert shell(folder, arguments, redirection).returncode == status


@pytest.mark.slow  # processes of their own
def test_a_closed_descriptor_does_not_become_that_of_a_file(folder, tmp_path):
    """What is said, also by a library, would else go into the first file that is opened."""
    arguments = ("predict", folder / "tiny.mpu", folder / "tiny.svm", "-o", "out", "-v", *ALONE)
    assert shell(tmp_path, arguments, "2>&- >&- <&-").returncode == 0
    assert len((tmp_path / "out").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("encoding", "mu", "name"), slow(("latin-1", r"\u03bc", r"\u010de\u0161tina"), ("utf-8", "μ", "čeština"))
)
def test_what_the_encoding_of_a_stream_lacks_is_escaped(folder, tmp_path, encoding, mu, name):
    (tmp_path / "μ.svm").write_text(TINY)
    (tmp_path / "names").write_text("čeština\nš\nž\n", encoding="utf-8")
    how = {"PYTHONIOENCODING": encoding}
    trained = shell(tmp_path, ("train", "μ.svm", *QUICK, *ALONE), **how)
    assert (trained.returncode, f"{mu}.mpu" in trained.stdout) == (0, True)
    labels = ("--per-label", "--labels", "names", *ALONE)
    evaluated = shell(tmp_path, ("evaluate", "μ.svm", folder / "tiny.tags", *labels), **how)
    assert (evaluated.returncode, name in evaluated.stdout) == (0, True)
    failed = shell(tmp_path, ("predict", "none-μ", "μ.svm"), **how)
    assert (failed.returncode, failed.stderr.startswith(f"error: none-{mu}: ")) == (1, True)


@pytest.mark.parametrize("name", ["a\nb.svm", "a\rb.svm", "a\x1b[31mb.svm", "a\u2028b.svm"])
def test_an_error_is_one_line_whatever_the_name_of_the_file(run, tmp_path, name):
    (tmp_path / name).write_text("1 x\n")
    for command, *others in (("train",), ("predict", "x"), ("evaluate", "x")):
        result = run(command, tmp_path / name, *others)
        assert result.exit_code == 1
        assert len([character for character in result.stderr if not character.isprintable()]) == 1
        assert result.stderr.endswith("\n")


def test_a_report_has_its_lines_whatever_the_name_of_the_file(run, tmp_path):
    (tmp_path / "a\nb.svm").write_text(TINY)
    assert r"a\nb.mpu" in run.ok("train", tmp_path / "a\nb.svm", *QUICK).stdout


@needs_full_device
@pytest.mark.parametrize("unbuffered", ["", *slow("1")])
def test_the_script_of_shell_completion_finds_no_room(folder, unbuffered):
    done = shell(folder, (), "> /dev/full", PYTHONUNBUFFERED=unbuffered, **COMPLETION)
    assert (done.returncode, done.stderr) == (1, f"error: {NO_ROOM}")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("train", "--help"), ()], ids=" ".join)
def test_a_reader_of_help_that_goes_away(folder, arguments):
    """Also of the script of shell completion."""
    reading, writing = os.pipe()
    os.close(reading)
    done = shell(folder, arguments, stdout=writing, **({} if arguments else COMPLETION))
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
