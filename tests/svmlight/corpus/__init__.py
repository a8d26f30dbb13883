"""What fuzzing found, and where it starts from: a file in `inputs` is one of ``fuzz.reading``."""

from mpu_cli.svmlight.grammar import MAX_LINE_BYTES, Reading
from tests.line_limit import line_limit
from tests.svmlight.reference import assert_reads_as_the_reference

_BLOCK_BYTES = (1 << 19, 1, 7, 40)


def replay(data: bytes) -> None:
    """Read an input: options in the bits of its first byte, then the file."""
    options = data[0] if data else 0
    reading = Reading(bool(options & 1), labels=not options & 16)
    with line_limit(16 if options & 8 else MAX_LINE_BYTES):
        assert_reads_as_the_reference(data[1:], reading, _BLOCK_BYTES[options >> 1 & 3])
