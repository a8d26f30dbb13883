"""Input that is read twice, even standard input and pipes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryFile

from mpu_cli.errors import STANDARD_STREAM
from mpu_cli.svmlight.streams import ReadableLines, Writable, open_input

Open = Callable[[], AbstractContextManager[ReadableLines]]


@contextmanager
def read_twice(source: str | Path) -> Iterator[tuple[Open, Open]]:
    """Yield two functions that open a file: for the first and for the second time.

    What cannot be read twice (standard input, a pipe) is stored in a temporary file in between.

    Parameters
    ----------
    source : str or Path
        As for `streams.open_input`, whose errors these functions raise.
    """
    if str(source) != STANDARD_STREAM and Path(source).is_file():
        yield lambda: open_input(source), lambda: open_input(source)
        return
    with TemporaryFile() as spool:

        @contextmanager
        def copied() -> Iterator[_CopyingStream]:
            with open_input(source) as stream:
                yield _CopyingStream(stream, spool)

        def rewound() -> AbstractContextManager[ReadableLines]:
            spool.seek(0)
            return nullcontext(spool)

        yield copied, rewound


class _CopyingStream:
    """A stream that also writes everything read from it to a file."""

    def __init__(self, stream: ReadableLines, copy: Writable) -> None:
        self._stream = stream
        self._copy = copy

    def read(self, n_bytes: int = -1, /) -> bytes:
        return self._copied(self._stream.read(n_bytes))

    def readline(self, n_bytes: int = -1, /) -> bytes:
        return self._copied(self._stream.readline(n_bytes))

    def _copied(self, data: bytes) -> bytes:
        self._copy.write(data)
        return data
