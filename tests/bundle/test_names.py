"""The names of a model's labels: a file of their own, checked as others are, and not parsed before it is asked for."""

import hashlib

import pytest

from mpu_cli import bundle
from mpu_cli.errors import InputError
from tests.bundle.models import assert_same, edit, make_model, make_named_model
from tests.golden import refused


@pytest.fixture
def named(path):
    bundle.save(make_named_model(), path)
    return path


def file_of(folder):
    (found,) = folder.glob("labels-*.txt")
    return found


def test_a_named_model_loads_equal(named):
    model = bundle.load(named)
    assert_same(model, make_model())
    assert model.names.by_number == make_named_model().names.by_number
    assert file_of(named).read_text() == "0\tnone\n7\tsports\tgames\n2147483646\t\n"


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
