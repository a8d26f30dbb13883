"""A smaller limit of the bytes of a line, as the real one takes long to reach."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from mpu_cli.svmlight.grammar import MAX_LINE_BYTES

_READERS = "svmlight.streams", "names.lines", "text.records"


@contextmanager
def line_limit(n_bytes: int = MAX_LINE_BYTES):
    """Refuse lines of more than so many bytes."""
    with ExitStack() as stack:
        for module in _READERS:
            stack.enter_context(patch(f"mpu_cli.{module}.MAX_LINE_BYTES", n_bytes))
        yield
