"""The Tab key completes commands and options: the shells ask `mpu` itself, through variables."""

import os
import subprocess
import sys

import pytest

from mpu_cli.cli import mpu


def ask(**variables: str) -> subprocess.CompletedProcess:
    """Run `mpu` as a shell does that wants to know how to go on."""
    return subprocess.run(
        [sys.executable, "-c", "from mpu_cli.__main__ import main; main()"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "line, word, expected",
    [
        ("mpu tr", 1, {"plain,train"}),
        ("mpu ", 1, {f"plain,{name}" for name in mpu.commands}),
        ("mpu train --lev", 2, {"plain,--levels"}),
        ("mpu train --loss sq", 3, {"plain,squared-hinge"}),
        ("mpu train new", 2, {"file,new"}),
    ],
)
def test_bash_completes(line, word, expected):
    result = ask(_MPU_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(word))
    assert (set(result.stdout.split()), result.stderr) == (expected, "")
