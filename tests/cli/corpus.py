"""Commands with odd files, and options with odd values: some by name, and any that ``fuzz.options`` comes to."""

import json
import shutil
import warnings
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from click.testing import CliRunner, Result

from mpu_cli.cli.commands import mpu
from tests.bundle.corpus import Choices

FILES = {
    "one-instance": "1 1:1\n",
    "no-features": "1\n2\n1,2\n\n3\n2\n",
    "constant-features": "1 1:2 2:3\n2 1:2 2:3\n" * 4,
    "huge-and-tiny": "1 1:1e38 2:1e-38\n2 1:1e-38 3:1\n1,2 1:1 2:-1e38\n 3:1e-45\n1 2:1e20\n",
    "one-label": "7 1:0.5 2:1\n7 2:2\n7 1:-1 3:0.25\n7\n7 3:1\n",
}
_PREDICTIONS = {"labels": "1\n\n2,7\n", "scores": "1:0.9 2:0.1\n\n7:1e-45 1:3e38\n", "empty": "\n" * 3}
_NUMBERS = (
    *("0", "-0", "1", "2", "3", "-1", "0.5", "1.5", "1e-6", "1e6", "1e-30", "1e30", "1e-38", "1e38", "1e-300", "1e300"),
    *("1e308", "-1e308", "1e309", "1e-320", "5e-324", "nan", "inf", "-inf", "100", "101", "1000001", "2147483647"),
    *("9223372036854775807", "9223372036854775808", "9" * 400, "9" * 5000, "0x10", "1_0", "+1", " 1", "1,3", "1,,3"),
    *("1K", "1e3M", "9" * 400 + "T", "0B"),
)
_WORDS = ("", " ", "auto", "None", "x", "é", "\N{ARABIC-INDIC DIGIT ONE}", "\U0001f426", "-", "--", "a\tb", ".")
_MOST_OPTIONS = 4  # of many, one is wrong usage


_TRAIN = [
    *(("one-label", option, value) for option, value in (("--cost", "1e-30"), ("--kernel", "auto"))),
    *(("constant-features", "--c", value) for value in ("1e-300", "1e-320")),
    ("huge-and-tiny", "--cost", "1e30"),
    ("no-features", "--cost", "1e30"),
    ("one-instance", "--output", "one-instance"),
]
CASES = [
    *(["train", file, "-o", "new"] for file in FILES),
    *(["train", file, "-o", "new", *options] for file, *options in _TRAIN),
    ["corrupt", "no-features", "new", "--missing-rate", "0.5", "--scheme", "label", "--seed", "9" * 400],
    ["estimate-c", "one-label", "--method", "e3"],
    ["estimate-c", "no-features", "--sample", "1"],
    ["evaluate", "one-instance", "empty"],
    ["evaluate", "no-features", "scores", "--c", "1e-300"],
    ["predict", "model", "huge-and-tiny"],
    ["predict", "model", "huge-and-tiny", "--format", "scores", "--threshold", "1"],
]


def replay(data: bytes, folder: Path) -> None:
    """Check the command that an input of the fuzzer stands for."""
    check(_arguments(Choices(data)), folder)


def check(arguments: list[str], folder: Path) -> None:
    """Run a command: it must succeed, or fail with one line, and Python must have nothing to warn of."""
    with TemporaryDirectory(dir=folder) as place, chdir(place):
        for name, text in (FILES | _PREDICTIONS).items():
            Path(name).write_text(text)
        if "model" in arguments:
            shutil.copytree(_model(), "model")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = CliRunner().invoke(mpu, arguments)
        _check(arguments, result)


def _arguments(choices: Choices) -> list[str]:
    name = choices.one_of(("train", "predict", "evaluate", "estimate-c", "corrupt"))
    files = tuple(FILES)
    file = choices.one_of(files)
    options = [option for option in mpu.commands[name].params if isinstance(option, click.Option)]
    arguments = {
        "train": [file, "-o", "new"],
        "predict": ["model", file],
        "evaluate": [file],
        "estimate-c": [file],
        "corrupt": [file, "new", "--missing-rate", "0.5"],
    }[name]
    if name == "evaluate":
        arguments.append(choices.one_of((*_PREDICTIONS, *files)))
    for _ in range(_MOST_OPTIONS):
        if not choices:
            break
        option = choices.one_of(options)
        arguments.append(option.opts[-1])
        if not option.is_flag:
            arguments.append(choices.one_of(_values(option, accepted=choices.below(4) > 0)))
    return [name, *arguments]


def _values(option: click.Option, accepted: bool) -> list[str]:
    """Return odd values of an option: all of them, or those that it takes."""
    values = [*_NUMBERS, *_WORDS]
    if isinstance(option.type, click.Choice):
        values = [*option.type.choices, *_WORDS]
    elif isinstance(option.type, click.Path):
        values = [*FILES, *_PREDICTIONS, "model", "missing/file", *_WORDS]
    return ([value for value in values if _takes(option, value)] if accepted else []) or values


@cache
def _takes(option: click.Option, value: str) -> bool:
    try:
        option.type.convert(value, option, None)
    except click.UsageError:
        return False
    return True


@cache
def _model() -> Path:
    """Return a model that is kept as long as the process runs."""
    folder = TemporaryDirectory()
    _model.folder = folder
    source = Path(folder.name) / "x"
    source.write_text("1 1:1 2:0.5\n2 2:1\n1,2 1:1 2:1\n3 3:0.5\n 1:1 3:2\n")
    result = CliRunner().invoke(mpu, ["train", str(source), "--c", "0.5", "--cost", "30", "--epochs", "2", "-q"])
    assert result.exit_code == 0, result.output
    return source.with_suffix(".mpu")


def _check(arguments: list[str], result: Result) -> None:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(arguments) from result.exception
    what = arguments, result.exit_code, result.stderr
    assert result.exit_code in (0, 1, 2), what
    lines = result.stderr.splitlines()
    if lines and lines[0].startswith("{"):
        levels = [json.loads(line)["level"] for line in lines]
        errors = levels.count("error")
    else:
        errors = sum(line.startswith("error: ") for line in lines)
    assert errors == (result.exit_code != 0), what
    assert "Warning" not in result.stderr and "Traceback" not in result.stderr, what
    assert result.exit_code == 0 or not Path("new").exists(), what
