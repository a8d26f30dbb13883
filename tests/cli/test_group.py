import re
import subprocess
import sys
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

from mpu_cli import __version__
from mpu_cli.cli import messages
from mpu_cli.cli.commands import mpu
from mpu_cli.cli.messages import print_table, progress
from mpu_cli.cli.options import CleanErrors, run_options
from mpu_cli.errors import InputError, MpuError

COMMANDS = sorted(mpu.commands)
HEAVY = {"jinja2", "numpy", "scipy", "sklearn", "joblib", "numba"}


@pytest.fixture
def group():
    """Give a group with one command, which runs the given function."""

    def make(function):
        @click.group(cls=CleanErrors)
        def cli():
            """Group."""

        cli.add_command(click.Command("go", params=messages.MESSAGE_OPTIONS, callback=function))
        return lambda *options: CliRunner().invoke(cli, ["go", *options])

    return make


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MpuError("what, and what to do"), "error: what, and what to do"),
        (InputError("a.svm", "wrong", 3), "error: a.svm:3: wrong"),
        (InputError("-", "wrong"), "error: standard input: wrong"),
        (PermissionError(13, "Permission denied", "a.svm"), "error: a.svm: Permission denied"),
        (OSError(28, "No space left on device"), "error: No space left on device"),
        (OSError("no number"), "error: no number"),
        (MemoryError(), "error: out of memory"),
        (MemoryError("7 GiB"), "error: out of memory: 7 GiB"),
    ],
)
def test_a_failure_is_one_line_and_status_1(group, error, line):
    result = group(Mock(side_effect=error))()
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"{line}\n")


def test_a_bug_is_not_hidden(group):
    assert isinstance(group(Mock(side_effect=ZeroDivisionError()))().exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), "warning: w 1 [mpu go]\ni\n"),
        (("-q",), "warning: w 1 [mpu go]\n"),
        (("-v",), "warning: w 1 [mpu go]\ni\nd\n"),
        (("-v", "-q"), "warning: w 1 [mpu go]\n"),
        (("-q", "--accept-warning", "w 2", "--accept-warning", "w"), ""),
        (("-q", "--accept-warning", "w 2"), "warning: w 1 [mpu go]\n"),
        (("-q", "--accept-warning", ""), "warning: w 1 [mpu go]\n"),  # from a shell variable that is not set
        (("-v", "--accept-warning", "w"), "warning: w 1 [mpu go]\ni\nd\n"),
    ],
)
def test_verbosity(group, options, shown):
    def speak():
        messages.warn("w 1")
        messages.info("i")
        messages.detail("d")

    result = group(speak)(*options)
    assert (result.stdout, result.stderr) == ("", shown)


def test_progress_is_a_line_a_step_where_there_is_no_terminal(group):
    def work():
        with progress("walk", 2) as tick:
            tick()
            tick()

    assert group(work)("-v").stderr == "walk: 0.0 s\n"
    assert group(work)().stderr == group(work)("-q").stderr == ""


@pytest.mark.parametrize(("given", "used"), [("1", 1), ("2", 2), ("3", 2), ("9999999", 2), ("-1", -1)])
def test_jobs_are_at_most_the_cores(monkeypatch, given, used):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    group = run_options("jobs")
    go = click.Command("go", params=[*group.options])
    assert group.make(**go.make_context("go", ["-j", given]).params).jobs == used


def test_a_table_is_aligned(capsys):
    print_table([["label", "f1", ""], [3, 0.5, "few"], [1000000, 0.25, ""]])
    assert capsys.readouterr().out == "label        f1\n3        0.5000  few\n1000000  0.2500\n"


# The whole command line


@pytest.mark.parametrize("command", [[], *[[name] for name in COMMANDS]], ids=lambda words: " ".join(words) or "mpu")
def test_help_shows_an_example_with_a_command_a_line(run, command):
    result = run.ok(*command, "--help")
    assert "\\b" not in result.stdout
    assert "\b" not in result.stdout
    lines = result.stdout.splitlines()
    example = lines[lines.index("  Example:") + 1 :]
    example = example[: example.index("")]
    assert example
    name = command[0] if command else ""
    assert any(f"mpu {name}" in line for line in example)
    assert all("mpu " in line or line.startswith(" " * 6) for line in example)


def test_no_summary_of_a_command_is_cut(run):
    shown = run("--help").output.partition("Commands:\n")[2].splitlines()
    assert len(shown) == len(mpu.commands)
    assert [line for line in shown if line.endswith("...")] == []


def test_help_and_a_missing_file_import_nothing_heavy():
    """In one process, which says after each of them what has been imported by then."""
    code = """import contextlib, sys; from mpu_cli.cli.commands import mpu
for words in sys.argv[1:]:
    with contextlib.suppress(SystemExit):
        mpu(words.split(), standalone_mode=False)
    print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)
    print('---')"""
    absent = ["vectorize none.csv -o none.svm", "apply none.csv -o none", "train none.svm"]
    arguments = ["--help", "--version", *[f"{name} --help" for name in COMMANDS], *absent]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert all(text.strip() for text in done.stdout.split("---\n")[: -1 - len(absent)])
    said = [
        line for line in done.stderr.splitlines() if not line.endswith(": cannot be read: No such file or directory")
    ]
    imported = dict(zip(arguments, said, strict=True))
    assert {words: found for words, names in imported.items() if (found := HEAVY & set(names.split()))} == {}


def test_version(run):
    for option in ("--version", "-V"):
        assert run(option).stdout == f"mpu, version {__version__}\n"


def test_help_is_a_command_too(run):
    assert run("help").stdout == run("--help").stdout
    assert run("help", "train").stdout == run("train", "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_has_each_option_once_and_fits_two_screens(run, command):
    text = run(command, "--help").stdout
    assert "RANGE" not in text and "<=" not in text  # ranges are said in words
    assert len(text.splitlines()) <= 130
    assert max(map(len, text.partition("ptions:\n")[2].splitlines())) <= 80
    for param in mpu.commands[command].params:
        if isinstance(param, click.Option):
            option = max(param.opts, key=len)
            assert len(re.findall(rf"^  (-\w, )?{option}\b(?!-)", text, re.MULTILINE)) == 1, option


def test_without_a_command_its_usage_is_shown(run):
    result = run()
    assert (result.exit_code, "Usage:" in result.output) == (2, True)


@pytest.mark.parametrize(
    "line, word, expected",
    [
        ("mpu tr", 1, {"plain,train"}),
        ("mpu ", 1, {f"plain,{name}" for name in COMMANDS}),
        ("mpu train --lev", 2, {"plain,--levels"}),
        ("mpu train --loss sq", 3, {"plain,squared-hinge"}),
        ("mpu train new", 2, {"file,new"}),
        ("mpu experiment --out res", 3, {"dir,res"}),
    ],
)
def test_bash_completes(line, word, expected):
    """Shells ask `mpu` itself, through variables."""
    asked = {"_MPU_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    result = CliRunner().invoke(mpu, env=asked, prog_name="mpu")
    assert (set(result.stdout.split()), result.stderr) == (expected, "")
