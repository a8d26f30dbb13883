"""What the tests of `mpu train` share."""

TINY = "1 1:1\n2 2:1\n1,2 1:1 2:1\n3 3:0.5\n 1:1 3:2\n"
# Nothing is chosen, so that it is over in a moment.
QUICK = ("--c", 0.5, "--cost", 30, "--epochs", 2, "--levels", 1)
# For a process of its own, in which loading compiled kernels would take as long as all the rest.
ALONE = ("--kernel", "numpy")


def message(result) -> str:
    """The one line of an error."""
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.stderr.endswith(f"{line}\n")
    return line
