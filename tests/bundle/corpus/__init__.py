"""Inputs of ``fuzz.files models``: which model, and what to change in it."""

import hashlib
import io
import json
import zipfile
from collections.abc import Set
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.loading import MANIFEST, digest
from mpu_cli.errors import MpuError
from tests.bundle.models import TOP, Q, make_model, make_model_in_strata, make_sparse_model
from tests.folders import contents

Files = dict[str, bytes]

_FIXTURES = Path(__file__).parent.parent / "fixtures"
_MATRIX = csr_array(np.array([[1, 0, -3, 0, 0, 0], [0] * 6, [0, 1e30, 0, 0, 0, 1]], np.float32))
_VALUES = (
    *(None, True, False, 0, 1, 2, -1, 0.5, 1e-300, 1e308, float("nan"), float("inf"), 2**31 - 1, 2**31, 2**63, 2**70),
    *("", "../manifest.json", "/etc/passwd", "level0-0123456789abcdef.npz", "rbf", "stacked"),
    *([], {}, [[]], [0, 0, 0], [0.5] * Q, [1] * 10_000, {"": 0}, [None, None], {"most": 2, "least": 0.1}),
)


class Choices:
    """Numbers and bytes from an input, zeros after its end."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def below(self, n: int) -> int:
        """Return a whole number from 0 up."""
        return int.from_bytes(self._stream.read(2), "little") % n

    def piece(self) -> bytes:
        """Return some bytes, perhaps none."""
        return self._stream.read(self.below(12))

    def one_of(self, values):
        """Return an element of a sequence."""
        return values[self.below(len(values))]

    def __bool__(self) -> bool:
        place = self._stream.tell()
        return place < self._stream.seek(0, io.SEEK_END) and self._stream.seek(place) == place


def replay(data: bytes, folder: Path) -> None:
    """Load a changed model and predict with it: it must be refused, or give probabilities."""
    choices = Choices(data)
    files = dict(choices.one_of(_models()))
    while choices:
        choices.one_of(_CHANGES)(files, choices)
    model = folder / "model"
    model.mkdir(exist_ok=True)
    for name in contents(model).keys() - files.keys():
        (model / name).unlink()
    for name, content in files.items():
        (model / name).write_bytes(content)
    try:
        loaded = bundle.load(model)
        probabilities = loaded.predictor.probabilities(_MATRIX)
    except MpuError as error:
        assert str(error).isprintable(), error
        return
    assert probabilities.shape == (_MATRIX.shape[0], len(loaded.label_ids))
    assert np.all((probabilities >= 0) & (probabilities <= 1))


@cache
def _models() -> list[Files]:
    """Return small models of all kinds and versions."""
    stacked = make_model()
    sparse = [make_sparse_model(top=top, compact=compact).predictor for top in (TOP, None) for compact in (True, False)]
    models = [contents(path) for path in sorted(_FIXTURES.glob("v*/*/model"))]
    of_mpu = [stacked.predictor, make_model_in_strata().predictor, *sparse]
    for predictor in of_mpu:
        with TemporaryDirectory() as folder:
            model = replace(stacked, predictor=predictor, options={"a": [1]})
            bundle.save(model, Path(folder) / "model")
            models.append(contents(Path(folder) / "model"))
    return models


def _splice(content: bytes, choices: Choices) -> bytes:
    """Return the content with some bytes replaced, removed or inserted."""
    start = choices.below(len(content) + 1)
    return content[:start] + choices.piece() + content[start + choices.below(12) :]


def change_bytes(files: Files, choices: Choices) -> None:
    """Change a file, and no checksum."""
    name = choices.one_of(sorted(files))
    files[name] = _splice(files[name], choices)


def cut(files: Files, choices: Choices, kept: Set[str] = frozenset()) -> None:
    """Cut a file short, or remove it, but not those that are kept."""
    name = choices.one_of(sorted(files.keys() - kept))
    files[name] = files[name][: choices.below(len(files[name]) + 1)]
    if not files[name] and len(files) > 1 + len(kept):
        del files[name]


def _change_value(files: Files, choices: Choices) -> None:
    """Change, add or remove a value of the manifest, and its checksum with it."""
    values = _manifest(files)
    inner, key = values, None
    while isinstance(inner, dict | list) and len(inner) and (key is None or choices.below(2)):
        outer, key = inner, choices.one_of(sorted(inner) if isinstance(inner, dict) else range(len(inner)))
        inner = outer[key]
    if key is None:
        return
    if choices.below(8) == 0:
        del outer[key]
    else:
        outer[key] = choices.one_of(_VALUES)
    _put_manifest(files, values)


def _change_array(files: Files, choices: Choices) -> None:
    """Change what is within a file of arrays, header or numbers, and all checksums with it."""
    name = _some_arrays(files, choices)
    try:
        with zipfile.ZipFile(io.BytesIO(files.get(name, b""))) as archive:
            members = {member: archive.read(member) for member in archive.namelist()}
    except Exception:  # damaged by another change
        return
    if not members:
        return
    member = choices.one_of(sorted(members))
    members[member] = _splice(members[member], choices)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    _put_arrays(files, name, out.getvalue())


def _change_archive(files: Files, choices: Choices) -> None:
    """Change a file of arrays, and all checksums with it."""
    name = _some_arrays(files, choices)
    _put_arrays(files, name, _splice(files.get(name, b""), choices))


_CHANGES = (_change_value, _change_array, _change_archive, change_bytes, cut)


def _some_arrays(files: Files, choices: Choices) -> str:
    return choices.one_of(sorted(files.keys() - {MANIFEST}) or [""])


def _put_arrays(files: Files, name: str, content: bytes) -> None:
    """Replace a file of arrays, and its name and checksum in the manifest."""
    old, new = (hashlib.sha256(data).hexdigest() for data in (files.pop(name, b""), content))
    new_name = f"{name.partition('-')[0]}-{new[:16]}.npz"
    files[new_name] = content
    values = json.dumps(_manifest(files)).replace(name, new_name) if name else "{}"
    _put_manifest(files, json.loads(values.replace(old, new)))


def _manifest(files: Files) -> dict:
    try:
        values = json.loads(files.get(MANIFEST, b""))
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _put_manifest(files: Files, values: dict) -> None:
    if values.pop("sha256", None) is not None:  # of version 2
        values["sha256"] = digest(values)
    files[MANIFEST] = json.dumps(values).encode()
