"""What the tests of `mpu train` share."""

from tests.golden import assert_worded

TINY = "1 1:1\n2 2:1\n1,2 1:1 2:1\n3 3:0.5\n 1:1 3:2\n"
# Nothing is chosen, so that it is over in a moment.
QUICK = ("--c", 0.5, "--cost", 30, "--epochs", 2, "--levels", 1)
# For a process of its own, in which loading compiled kernels would take as long as all the rest.
ALONE = ("--kernel", "numpy")


def message(result) -> str:
    """Return the one line of an error, which is worded as the golden file has it."""
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.stderr.endswith(f"{line}\n")
    assert_worded(line)
    return line
