"""Values of options on the command line: what is wrong with one, and what would be right."""

import pytest
from click.testing import CliRunner

from mpu_cli.cli import mpu


@pytest.mark.parametrize(
    "arguments",
    [
        *[("train", option, "9" * 400) for option in ("--levels", "--folds", "--sample")],
        ("experiment", "--methods", "br\x1b"),
    ],
)
def test_long_numbers_and_control_characters_are_refused_in_one_line(arguments):
    result = CliRunner().invoke(mpu, [*arguments, "no-such-file.svm"])
    assert result.exit_code == 2
    assert f"Invalid value for '{arguments[1]}'" in result.stderr
    assert result.stderr.removesuffix("\n").isprintable()


def test_a_file_of_frequencies_may_have_any_name(tmp_path):
    (tmp_path / "40%").write_text("1 0.5\n")
    result = CliRunner().invoke(mpu, ["train", "--c", str(tmp_path / "40%"), str(tmp_path / "no-such-file.svm")])
    assert "no-such-file.svm: cannot be read" in result.stderr


@pytest.mark.parametrize("command", sorted(mpu.commands))
def test_the_help_says_ranges_in_words(command):
    text = CliRunner().invoke(mpu, [command, "--help"]).stdout
    assert "RANGE" not in text
    assert "<=" not in text
