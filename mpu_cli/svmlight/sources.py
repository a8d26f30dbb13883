"""Sources of data: a file, standard input, or several files that are read as one."""

from collections.abc import Sequence
from pathlib import Path

from mpu_cli.errors import counted, shown


class Files(tuple[str, ...]):
    """Files that are read as one: the instances of the first, then those of the second, and so on."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return their name in messages."""
        first, *others = self
        return f"{shown(first)} and {counted(len(others), 'more file')}"


Source = str | Path | Files


def as_one(paths: Sequence[str]) -> str | Files:
    """Return one file as it is, and several as `Files`."""
    return paths[0] if len(paths) == 1 else Files(paths)


def files_of(source: Source) -> list[str]:
    """Return the files of a source, in the order in which they are read."""
    return list(source) if isinstance(source, Files) else [str(source)]
