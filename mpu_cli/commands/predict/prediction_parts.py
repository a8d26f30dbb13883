"""Predictions of several files: a file for each, of the same name, in a directory."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mpu_cli.errors import STANDARD_STREAM, MpuError, OverlapError, shown
from mpu_cli.runtime import signals
from mpu_cli.runtime.urls import file_name


def in_folder(folder: str | Path, sources: Sequence[str]) -> dict[str, Path]:
    """Return where the predictions of each file are: in a directory, under its own name.

    A name that ends in ``.gz``, ``.bz2`` or ``.xz`` is that of compressed predictions too.

    Raises
    ------
    OverlapError
        Two files have the same name, or one has none.
    """
    files: dict[str, str] = {}
    for source in sources:
        name = "" if source == STANDARD_STREAM else file_name(source).name
        if not name:
            raise OverlapError(f"{shown(source)} has no name that its predictions in {folder} could have")
        if (other := files.setdefault(name, source)) != source:
            raise OverlapError(
                f"{shown(other)} and {shown(source)} have the same name, and so would their predictions in {folder}; "
                "predict them into two directories"
            )
    return {source: Path(folder, name) for name, source in files.items()}


@contextmanager
def making(folder: Path, targets: Collection[Path]) -> Iterator[None]:
    """Make a directory in which some files will be, unless it is there; remove it again if nothing came of them.

    Raises
    ------
    MpuError
        It is no directory, or cannot be made; or a directory is where a file belongs.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise MpuError(
                f"{folder}: is a file, and predictions of several go to a directory; give another -o"
            ) from None
        if taken := next((target for target in targets if target.is_dir()), None):
            raise MpuError(f"{taken}: is a directory, and a file is to be written there") from None
        yield
        return
    except OSError as error:
        raise MpuError(f"{folder}: cannot be made: {error.strerror}") from error

    def remove_if_empty() -> None:
        with suppress(OSError):
            folder.rmdir()

    with signals.finally_call(remove_if_empty):
        yield
