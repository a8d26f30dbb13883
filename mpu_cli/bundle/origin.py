"""The provenance of a model: what `mpu info` shows, and no prediction needs.

It is a file of its own, ``training-CHECKSUM.json``, so that all other files of a model have the same bytes for the same
data, options and seed. The checksum is that of its manifest.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypedDict, get_origin, get_type_hints

from mpu_cli.bundle.kinds import number_list
from mpu_cli.bundle.manifest import json_values
from mpu_cli.bundle.model_files import expect
from mpu_cli.runtime.report import HIDDEN, NULL, Count

ORIGIN_NAME = re.compile(r"training-[0-9a-f]{16}\.json")
_FORMAT, _FORMAT_VERSION = "mpu training", 2
_MOST_MARKS = 1 << 21  # 14 for each of many files


class OriginFile(TypedDict):
    """A file of data, as it was named; without size and checksum if it was a stream, or changed meanwhile."""

    name: str
    bytes: Count | None
    sha256: str | None


@dataclass(frozen=True)
class Origin:
    """How a model was trained.

    Attributes
    ----------
    time : str
        Time of saving: ISO 8601, in UTC.
    annotated : list of int
        Number of annotations of each label of the model.
    true : list of float
        Number of true labels, estimated from these by the label frequency and by decisions of reviewers.
    given : dict
        The options that differ from their defaults: JSON values.
    versions : dict of str to str
        Versions of mpu, Python and the numerical packages.
    kernel : str
        The inner loops: "numpy" or "numba".
    source : str or None
        The data, as the user named them; None for arrays.
    source_bytes, source_sha256 : int and str, or None
        Size and checksum of that file; None if it was a stream, or changed meanwhile.
    files : list of OriginFile
        If the data were several files; `source` has their number.
    others : list of str
        Other training files, each with its option.
    warm_start : str or None
        The earlier model that training started from, as the user named it.
    warm_start_sha256 : str or None
        Checksum of its manifest.
    """

    time: str
    instances: Count
    annotated: list[int] = field(metadata=HIDDEN)  # long, and asked for by label
    true: list[float] = field(metadata=HIDDEN)
    given: dict[str, Any]
    versions: dict[str, str]
    kernel: str
    source: str | None = field(default=None, metadata=NULL)
    source_bytes: Count | None = field(default=None, metadata=NULL)
    source_sha256: str | None = field(default=None, metadata=NULL)
    files: list[OriginFile] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    warm_start: str | None = field(default=None, metadata=NULL)
    warm_start_sha256: str | None = field(default=None, metadata=NULL)

    def written(self) -> bytes:
        """Return the content of the file; the reverse of `parse`."""
        return (json.dumps({"format": _FORMAT, "format_version": _FORMAT_VERSION, **asdict(self)}) + "\n").encode()


def origin_name(manifest: bytes) -> str:
    """Return the name of the file that belongs to a manifest."""
    return f"training-{hashlib.sha256(manifest).hexdigest()[:16]}.json"


def parse(content: bytes, n_labels: int) -> Origin:
    """Parse and check the file of a model with `n_labels` labels.

    Raises ValueError (it is damaged, or of a newer version).
    """
    try:
        values = json_values(content, _MOST_MARKS)
        expect(values.pop("format") == _FORMAT, "of another format")
        version = values.pop("format_version")
        expect(version in (1, _FORMAT_VERSION), "of a newer version")
        if version == 1:  # which had one file at most
            values["files"] = []
        expect(values.keys() == {f.name for f in fields(Origin)}, "other values are expected")
        for name, hint in get_type_hints(Origin).items():
            kind = get_origin(hint) if get_origin(hint) in (list, dict) else hint
            expect(isinstance(values[name], kind) and not isinstance(values[name], bool), f"{name} is of another type")
        for name, dtype in (("annotated", int), ("true", float)):
            expect(len(number_list(values[name], name, dtype)) == n_labels, f"{name} is of another length")
        of_file = get_type_hints(OriginFile)
        for file in values["files"]:
            expect(file.keys() == of_file.keys(), "a file has other values")
            expect(all(isinstance(file[name], kind) for name, kind in of_file.items()), "a file has other types")
        expect(all(isinstance(text, str) for text in (*values["others"], *values["versions"].values())), "no texts")
        return Origin(**values)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{error} is missing" if isinstance(error, KeyError) else str(error)) from None
