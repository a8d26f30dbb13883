"""Files of a command of which one would overwrite another, whether the user names them or the command finds them.

Files are compared, not their names: a link, or another spelling of a path, is the same file.
"""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from mpu_cli.errors import STANDARD_STREAM, FilesError, shown
from mpu_cli.names.naming import BESIDE_DATA
from mpu_cli.runtime.files import STDIN, STDOUT, Named, each_named, identity_of
from mpu_cli.svmlight.streams import pair_of, stem
from mpu_cli.text.records import files_of_corpus
from mpu_cli.text.stored import side_files

_STANDARD_INPUT = (STANDARD_STREAM, "/dev/stdin", "/dev/fd/0")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)(//?)")
# Arguments and options with data, beside which a command finds other files.
_DATA = {"FILE", "IN", "--data", "--like", "--accept-on"}
_File = tuple[str, str]  # the name of its argument or option, and its path


def refuse_overlaps(inputs: Named, outputs: Named, replaced: Named | None = None) -> None:
    """Refuse files if one would overwrite another. Call this before opening any of them.

    `inputs`, `outputs`: files and directories keyed by argument or option name; ``-`` is a standard stream.
    `replaced`: outputs, keyed likewise, that are directories and replaced as a whole.
    Raises FilesError (an output is read by the command or is another output, is in a directory that is read or
    replaced, or is a URL; or an input is in a directory that is replaced; or two inputs are the same stream, or test
    data are learned from); MpuError as for `identity_of`.
    """
    sources, targets, folders = (
        [one for one in each_named(files) if one[1] != os.devnull] for files in (inputs, outputs, replaced or {})
    )
    _refuse_stream_read_twice(sources)
    read = _read(sources, [Path(os.path.realpath(path)) for _, path in targets])
    written: dict[Any, _File] = {}
    for name, path in (*targets, *folders):
        _refuse_url(name, path)
        identity = identity_of(path, STDOUT)
        if first := written.get(identity or path):
            other, place = first
            raise FilesError(f"{other} and {name} are both {shown(place, 'output')}; give one of them another name")
        written[identity or path] = name, path
        if found := read.get(identity):
            same = f"the same {'directory' if Path(path).is_dir() else 'file'}, {shown(path, 'output')}"
            raise FilesError(f"{name} and {found[0]} are {same}; give {_option(name)} another name")
    replacing = {identity_of(path, STDOUT): (name, path) for name, path in folders}
    for files, others in ((targets, read | replacing), (read.values(), replacing)):
        for (name, path), (folder, place) in _inside(files, others):
            option = _option(name if files is targets else folder)
            raise FilesError(f"{name}, {path}, lies in {folder}, {place}; give {option} another place")


def _option(name: str) -> str:
    """Return the option in the name of an output, such as ``the list beside --output``; without one, the argument."""
    return next((word for word in name.split() if word.startswith("--")), name)


def _inside(files: Iterable[_File], folders: dict[Any, _File]) -> Iterator[tuple[_File, _File]]:
    """Yield files that are in one of several directories, which are given by their identities, and the directory."""
    places = ((file, Path(os.path.realpath(file[1]))) for file in files if folders and file[1] != STANDARD_STREAM)
    holder = cache(lambda place: folders.get(identity_of(str(place), STDIN)))
    return ((file, found) for file, place in places for folder in place.parents if (found := holder(folder)))


def _refuse_url(name: str, path: str) -> None:
    scheme = _SCHEME.match(path)
    if scheme and (scheme[2] == "//" or not Path(scheme[0]).exists()):  # a Path keeps only one of two slashes
        url = shown(f"{scheme[1]}//{path.removeprefix(scheme[0])}")
        raise FilesError(f"{name}, {url}, is a URL, but output goes to local files; write one and copy it")


def _refuse_stream_read_twice(sources: list[_File]) -> None:
    streams: dict[Any, str] = {}
    for name, path in sources:
        if path in _STANDARD_INPUT or Path(path).is_fifo():
            identity = identity_of(path, STDIN) or STANDARD_STREAM
            if (other := streams.get(identity)) is not None:
                raise FilesError(f"{other} and {name} are both {shown(path, 'input')}, which can be read only once")
            streams[identity] = name


def _read(sources: list[_File], outputs: list[Path]) -> dict[Any, _File]:
    """Return all files that are read, by identity; `outputs` may be among those beside data.

    Raises FilesError (test data are learned from).
    """
    folders = {Path(path).parent for name, path in sources if name.split()[0] in _DATA}
    beside = chain(outputs, *(folder.glob("*") for folder in folders))
    stems = {path.stem for path in beside if path.suffix in BESIDE_DATA}
    read: dict[Any, _File] = {}
    for name, path in (found for source in sources for found in _read_with(*source, stems)):
        identity = identity_of(path, STDIN)
        if name == "--accept-on" and (other := read.get(identity)):
            raise FilesError(f"{other[0]} and {name} are the same file, {path}; leave test data out of the training")
        if identity is not None:
            read.setdefault(identity, (name, path))
    return read


def _read_with(name: str, path: str, stems: set[str]) -> Iterator[_File]:
    """Yield an input, and all files that may be read with it; `stems`: of data that may have files beside them."""
    yield name, path
    if Path(path).is_dir():
        yield from ((f"a file of {name}", str(file)) for file in files_of_corpus(Path(path)))
    elif name.split()[0] in _DATA and not stems.isdisjoint((stem(path), stem(path).removesuffix("-train"))):
        for kind, file in side_files(path):
            yield from _read_with(f"the {kind} of {name}", str(file), stems)
    if pair := pair_of(path):
        yield from ((f"the {kind} of {name}", str(file)) for kind, file in pair._asdict().items())
