"""Files of a command of which one would overwrite another, whether the user names them or the command finds them.

Files are compared, not their names: a link, or another spelling of a path, is the same file.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpu_cli.errors import STANDARD_STREAM, FilesError, shown
from mpu_cli.runtime.files import STDIN, STDOUT, Named, each_named, identity_of
from mpu_cli.svmlight.streams import pair_of
from mpu_cli.text.records import files_of_corpus
from mpu_cli.text.stored import side_files

_STANDARD_INPUT = (STANDARD_STREAM, "/dev/stdin", "/dev/fd/0")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)(//?)")
# Arguments and options with data, beside which a command finds other files.
_DATA = {"FILE", "IN", "--data", "--like", "--accept-on"}


def refuse_overlaps(inputs: Named, outputs: Named, folders: Named | None = None) -> None:
    """Refuse files if one would overwrite another. Call this before opening any of them.

    `inputs`, `outputs`: files and directories keyed by argument or option name; ``-`` is a standard stream.
    `folders`: directories written by `mpu`, keyed likewise. No output may be in them.
    Raises FilesError (an output is read by the command or is another output, is in one of the directories, or is a URL;
    or two inputs are the same stream, or test data are learned from); MpuError as for `identity_of`.
    """
    sources, targets = ([one for one in each_named(files) if one[1] != os.devnull] for files in (inputs, outputs))
    _refuse_stream_read_twice(sources)
    read = _read(sources)
    written: dict[Any, tuple[str, str]] = {}
    for name, path in targets:
        _refuse_url(name, path)
        identity = identity_of(path, STDOUT)
        if first := written.get(identity or path):
            other, place = first
            raise FilesError(f"{other} and {name} are both {shown(place, 'output')}; give one of them another name")
        written[identity or path] = name, path
        for folder, place in each_named(folders or {}):
            if path != STANDARD_STREAM and Path(os.path.realpath(place)) in Path(os.path.realpath(path)).parents:
                raise FilesError(f"{name}, {path}, lies in {folder}, {place}; give {name} another place")
        # The command itself decides whether it may replace a directory.
        if not Path(path).is_dir() and (found := read.get(identity)):
            raise FilesError(f"{name} and {found} are the same file, {shown(path, 'output')}; give {name} another name")


def _refuse_url(name: str, path: str) -> None:
    scheme = _SCHEME.match(path)
    if scheme and (scheme[2] == "//" or not Path(scheme[0]).exists()):  # a Path keeps only one of two slashes
        url = shown(f"{scheme[1]}//{path.removeprefix(scheme[0])}")
        raise FilesError(f"{name}, {url}, is a URL, but output goes to local files; write one and copy it")


def _refuse_stream_read_twice(sources: list[tuple[str, str]]) -> None:
    streams: dict[Any, str] = {}
    for name, path in sources:
        if path in _STANDARD_INPUT or Path(path).is_fifo():
            identity = identity_of(path, STDIN) or STANDARD_STREAM
            if (other := streams.get(identity)) is not None:
                raise FilesError(f"{other} and {name} are both {shown(path, 'input')}, which can be read only once")
            streams[identity] = name


def _read(sources: list[tuple[str, str]]) -> dict[Any, str]:
    """Return the names of all files that are read, by their identities; FilesError if test data are among them."""
    read: dict[Any, str] = {}
    for name, path in (found for source in sources for found in _read_with(*source)):
        identity = identity_of(path, STDIN)
        if name == "--accept-on" and (other := read.get(identity)):
            raise FilesError(f"{other} and {name} are the same file, {path}; leave test data out of the training")
        if identity is not None:
            read.setdefault(identity, name)
    return read


def _read_with(name: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the name and place of an input, and of all files that may be read with it."""
    yield name, path
    if Path(path).is_dir():
        yield from ((f"a file of {name}", str(file)) for file in files_of_corpus(Path(path)))
    if pair := pair_of(path):
        yield from ((f"the {kind} of {name}", str(file)) for kind, file in pair._asdict().items())
    if name.split()[0] in _DATA and Path(path).is_file():
        for kind, file in side_files(path):
            yield from _read_with(f"the {kind} of {name}", str(file))
