"""The names of a model's labels: a file of their own, checked as others are, and not parsed before it is asked for."""

import hashlib
import json
import os
from dataclasses import replace

import pytest

from mpu_cli import bundle
from mpu_cli.errors import InputError, ModelError
from mpu_cli.names import LabelNames
from tests.bundle.models import assert_same, contents, edit, make_model
from tests.golden import refused

NAMES = LabelNames.of({0: ["none"], 7: ["sports", "games"], 2**31 - 2: []})


@pytest.fixture
def named(path):
    bundle.save(replace(make_model(), names=NAMES), path)
    return path


def file_of(folder):
    (found,) = folder.glob("labels-*.txt")
    return found


def test_a_named_model_loads_equal(named):
    model = bundle.load(named)
    assert_same(model, make_model())
    assert model.names.by_number == NAMES.by_number
    assert file_of(named).read_text() == "0\tnone\n7\tsports\tgames\n2147483646\t\n"


def test_a_model_without_names_takes_the_place_of_all_of_one_with_names(named):
    bundle.save(make_model(), named)
    assert bundle.load(named).names is None
    assert not [name for name in contents(named) if name.endswith(".txt")]


def test_names_are_not_parsed_before_they_are_asked_for(named):
    text = b"7\tsports\nno number\n"
    put_names(named, text)
    names = bundle.load(named).names
    with refused(InputError):
        names.written(7)


def put_names(folder, text: bytes) -> None:
    """Put other names in the place of those of a model, under a name and a checksum that suit them."""
    checksum = hashlib.sha256(text).hexdigest()
    file_of(folder).unlink()
    (folder / f"labels-{checksum[:16]}.txt").write_bytes(text)
    edit(folder, names={"file": f"labels-{checksum[:16]}.txt", "sha256": checksum})


def swap(make):
    def change(path):
        path.unlink()
        make(path)

    return change


DAMAGE = {
    "changed": lambda path: path.write_text("0\tother\n"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "missing": lambda path: path.unlink(),
    "a link": swap(lambda path: path.symlink_to("/etc/hosts")),
    "a pipe": swap(os.mkfifo),
    "a directory": swap(os.mkdir),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_of_names_is_refused(named, kind):
    DAMAGE[kind](file_of(named))
    with refused(ModelError):
        bundle.load(named)


@pytest.mark.parametrize(
    "entry",
    [
        "labels.txt",
        [],
        None,
        {},
        {"file": "labels-0123456789abcdef.txt"},
        {"file": 3, "sha256": "0"},
        {"file": "../labels-0123456789abcdef.txt", "sha256": "0"},
        {"file": "manifest.json", "sha256": "0"},
    ],
    ids=json.dumps,
)
def test_a_damaged_entry_of_the_manifest_is_refused(named, entry):
    edit(named, names=entry)
    with refused(ModelError):
        bundle.load(named)
