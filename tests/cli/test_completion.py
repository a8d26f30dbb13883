"""The Tab key completes commands and options: the shells ask `mpu` itself, through variables."""

import pytest
from click.testing import CliRunner

from mpu_cli.cli import mpu


@pytest.mark.parametrize(
    "line, word, expected",
    [
        ("mpu tr", 1, {"plain,train"}),
        ("mpu ", 1, {f"plain,{name}" for name in mpu.commands}),
        ("mpu train --lev", 2, {"plain,--levels"}),
        ("mpu train --loss sq", 3, {"plain,squared-hinge"}),
        ("mpu train new", 2, {"file,new"}),
        ("mpu experiment --out res", 3, {"dir,res"}),
    ],
)
def test_bash_completes(line, word, expected):
    asked = {"_MPU_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    result = CliRunner().invoke(mpu, env=asked, prog_name="mpu")
    assert (set(result.stdout.split()), result.stderr) == (expected, "")
