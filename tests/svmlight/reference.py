"""The format read line by line, in plain Python: what the kernels and the reader are held to, by the fuzzer too."""

from io import BytesIO

import numpy as np

from mpu_cli.errors import InputError, counted
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight import streams
from mpu_cli.svmlight.grammar import BYTE_ORDER_MARK, Reading, header_of, parse_line, problem_of
from mpu_cli.svmlight.reader import Dataset, iter_stream, parse_block

Instance = tuple[list[int], list[tuple[int, int]]]  # labels; feature indices and the bits of their float32 values


def reference_block(block: bytes, reading: Reading, first_line: int = 1) -> list[Instance] | str:
    """Parse whole lines: the instances, labels and features sorted, or the text of the first error."""
    instances = []
    for number, line in enumerate(split(block), first_line):
        if line.startswith(b"#"):
            continue
        try:
            labels, indices, values = parse_line(line, reading)
        except ValueError as error:
            return f"file:{number}: {error}"
        labels = labels if reading.labels else []
        features = sorted(zip(indices, np.array(values, np.float32).view(np.uint32).tolist(), strict=True))
        instances.append((sorted(labels), features))
    return instances


def parsed_block(block: bytes, reading: Reading, first_line: int = 1) -> list[Instance] | str:
    """Do the same with the kernel that is chosen."""
    try:
        return instances_of(parse_block(block, first_line, "file", reading), reading)
    except InputError as error:
        return str(error)


def reference_file(data: bytes, reading: Reading) -> list[Instance] | str:
    """Read a file: the instances, or the text of the first error."""
    bom = len(BYTE_ORDER_MARK) * data.startswith(BYTE_ORDER_MARK)
    lines = split(data)
    long = [number for number, line in enumerate(lines) if len(line) > streams.MAX_LINE_BYTES]
    whole = lines[: long[0]] if long else lines
    whole[:1] = [line[bom:] for line in whole[:1]]
    if bom and whole == [b""] and not data[bom:]:
        whole = []
    first = next((number for number, line in enumerate(whole) if not line.startswith(b"#")), len(whole))
    header = header_of(whole[first]) if whole[first:] else None
    after = first + (header is not None)
    instances = reference_block(b"".join(line + b"\n" for line in whole[after:]), reading, after + 1)
    if isinstance(instances, str):
        return instances
    if long and long[0] == 0 and problem_of(lines[0]):
        return "file:1: this is "
    if long:
        return f"file:{long[0] + 1}: the line is longer than {streams.MAX_LINE_BYTES:,} bytes"
    if header is not None and header.instances != len(instances):
        return f"file:{first + 1}: the header declares {header.instances} instances, but {len(instances)} follow"
    if header is not None:
        labels = {label for labels, _ in instances for label in labels}
        features = {index for _, features in instances for index, _ in features}
        if header.features is None and not labels and reading.labels:
            header = header._replace(features=header.labels)
        if max(labels, default=-1) >= header.labels:
            return f"file:{first + 1}: the header declares {counted(header.labels, 'label')}"
        if header.features is not None and max(features, default=-1) >= header.features:
            return f"file:{first + 1}: the header declares {counted(header.features, 'feature')}"
    return instances or "file:1: the file has no instances"


def read_file(data: bytes, reading: Reading, block_bytes: int) -> list[Instance] | str:
    """Do the same with the reader."""
    instances = []
    try:
        for chunk in iter_stream(BytesIO(data), "file", reading, block_bytes, run=Run(jobs=1)):
            instances += instances_of(chunk, reading)
    except InputError as error:
        return str(error)
    return instances


def assert_reads_as_the_reference(data: bytes, reading: Reading, block_bytes: int) -> None:
    """Fail where the reader accepts, refuses or explains a file otherwise than the reference does."""
    expected, found = reference_file(data, reading), read_file(data, reading, block_bytes)
    if isinstance(expected, str) and isinstance(found, str):  # the reference leaves out the advice
        assert found.startswith(expected), (found, expected)
    else:
        assert found == expected, (found, expected)


def split(text: bytes) -> list[bytes]:
    """Return the lines without their LF; what follows the last LF is a line only if it is not empty."""
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def instances_of(dataset: Dataset, reading: Reading) -> list[Instance]:
    """Return the rows of a data set, with labels where these are read."""
    labels, features = dataset.labels, dataset.features
    columns, bits = features.indices.tolist(), features.data.view(np.uint32).tolist()
    return [
        (
            labels.indices[labels.indptr[i] : labels.indptr[i + 1]].tolist() if reading.labels else [],
            list(zip(columns[start:stop], bits[start:stop], strict=True)),
        )
        for i, (start, stop) in enumerate(zip(features.indptr[:-1].tolist(), features.indptr[1:].tolist(), strict=True))
    ]


def assert_same(first: Dataset, second: Dataset) -> None:
    """Fail where two data sets are not the same, bit for bit."""
    for ours, theirs in ((first.labels, second.labels), (first.features, second.features)):
        assert ours.shape == theirs.shape
        assert np.array_equal(ours.indptr, theirs.indptr)
        assert np.array_equal(ours.indices, theirs.indices)
        assert (ours.data.dtype, ours.data.tobytes()) == (theirs.data.dtype, theirs.data.tobytes())
