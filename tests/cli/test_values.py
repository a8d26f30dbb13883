"""Values of options on the command line: what is wrong with one, and what would be right."""

import pytest
from click.testing import CliRunner

from mpu_cli.cli import mpu

NUMBER_OR_FILE = "give auto, or a number above 0 and at most 1, or a file that exists."


def refused(*arguments: str) -> str:
    """What is said of a wrong value, on one line. It is wrong usage, whether or not there are data."""
    result = CliRunner().invoke(mpu, [*arguments, "no-such-file.svm"])
    assert result.exit_code == 2
    assert "cannot be read" not in result.stderr
    return " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "option, value, said",
    [
        ("--c", "40%", "'40%' is a percentage: write 0.4."),
        ("--c", "12.5 %", "'12.5 %' is a percentage: write 0.125."),
        ("--c", "best", f"'best': {NUMBER_OR_FILE}"),
        ("--c", "1.5", f"'1.5': {NUMBER_OR_FILE}"),
        ("--c", "nan", f"'nan': {NUMBER_OR_FILE}"),
        ("--c", "no-such-frequencies.txt", f"'no-such-frequencies.txt': {NUMBER_OR_FILE}"),
        ("--cost", "best", "'best': give auto, or a number from 1e-30 to 1e+30."),
        ("--cost", "inf", "'inf': give auto, or a number from 1e-30 to 1e+30."),
        ("--threshold", "best", "'best': give pu-f1, per-label, macro-f1, or a number from 0 to 1."),
        ("--threshold", "40%", "'40%' is a percentage: write 0.4."),
        ("--levels", "two", "'two': give auto, or a whole number from 1 to 100."),
        ("--epochs", "1.5", "'1.5': give auto, or a whole number from 1 to 1,000,000."),
        ("-j", "0", "0 threads can do nothing; -1 is one per core."),
    ],
)
def test_a_wrong_value_is_answered_with_those_that_are_right_before_data_are_read(option, value, said):
    assert f"Invalid value for '{option}'" in refused("train", option, value)
    assert said in refused("train", option, value)


def test_a_percentage_is_refused_by_every_command_that_takes_c():
    for command in ("train", "suggest"):
        assert "write 0.4" in refused(command, "--c", "40%")
    assert "write 0.4" in refused("evaluate", "--c", "40%", "other.svm")


def test_a_file_of_frequencies_may_have_any_name(tmp_path):
    (tmp_path / "40%").write_text("1 0.5\n")
    result = CliRunner().invoke(mpu, ["train", "--c", str(tmp_path / "40%"), str(tmp_path / "no-such-file.svm")])
    assert "no-such-file.svm: cannot be read" in result.stderr


@pytest.mark.parametrize("command", sorted(mpu.commands))
def test_the_help_says_ranges_in_words(command):
    text = CliRunner().invoke(mpu, [command, "--help"]).stdout
    assert "RANGE" not in text
    assert "<=" not in text
