"""Files of groups of instances: the name of the group of instance k on line k."""

from pathlib import Path

import numpy as np

from mpu_cli.core.data.instance_groups import InstanceGroups
from mpu_cli.errors import InputError, counted
from mpu_cli.names.lines import text_lines


def read_groups(source: str | Path, n: int) -> InstanceGroups:
    """Read the group of each of n instances.

    Parameters
    ----------
    source : str or Path
        UTF-8 text, plain or compressed. An empty line: the instance is in the group without a name.
    n : int

    Returns
    -------
    InstanceGroups
        In the order of their names.

    Raises
    ------
    InputError
        The file cannot be read, or has another number of lines.
    """
    lines = [line.strip() for _, line in zip(range(n + 1), text_lines(source), strict=False)]
    if len(lines) != n:
        how = "more" if len(lines) > n else f"{len(lines):,}"
        problem = f"has {how} lines, and there are {counted(n, 'instance')}: line k names the group of instance k"
        raise InputError(str(source), None, problem)
    names, numbers = np.unique(np.array(lines, dtype=object), return_inverse=True)
    return InstanceGroups(numbers, tuple(names.tolist()))
