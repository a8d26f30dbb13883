"""A model keeps how it was trained, in a file that no prediction needs."""

import json
from dataclasses import replace

import pytest

from mpu_cli import bundle
from mpu_cli.bundle.loading import digest
from mpu_cli.bundle.writing import Origin, described_files, parse_origin
from mpu_cli.runtime.files import state_of
from tests.bundle.models import Q, edit, make_model
from tests.folders import contents

ORIGIN = Origin(
    "2026-01-02T03:04:05+00:00",
    instances=20,
    annotated=[3, 0, 7],
    true=[7.5, 0.0, 70.0],
    options={"levels": 3, "c": "c.txt"},
    versions={"mpu": "0.1.0"},
    kernel="numpy",
    source="news.svm",
    files=[{"name": "news.svm", "bytes": 12, "sha256": "0" * 64}],
    others=["--fully-labelled more.svm"],
)
FILES = [{"name": "a.svm", "bytes": 3, "sha256": "0" * 64}, {"name": "-", "bytes": None, "sha256": None}]
OF_SEVERAL = replace(ORIGIN, source="a.svm and 1 more file", files=FILES)


@pytest.fixture
def told(path):
    bundle.save(replace(make_model(), origin=ORIGIN.written()), path)
    return path


@pytest.mark.parametrize("origin", [ORIGIN, OF_SEVERAL])
def test_it_is_found_again(path, origin):
    bundle.save(replace(make_model(), origin=origin.written()), path)
    assert parse_origin(bundle.load(path).origin, Q) == origin


def test_all_other_files_are_the_same_bytes_with_it_and_without(told, tmp_path):
    bundle.save(make_model(), tmp_path / "plain.mpu")
    (name,) = contents(told).keys() - contents(tmp_path / "plain.mpu").keys()
    assert name.startswith("training-") and name.endswith(".json")
    assert contents(tmp_path / "plain.mpu").items() <= contents(told).items()
    assert bundle.load(tmp_path / "plain.mpu").origin is None


def test_that_of_an_earlier_model_is_removed_by_the_next_training(told):
    later = replace(ORIGIN, time="2026-02-02T03:04:05+00:00")
    bundle.save(replace(make_model(1), origin=later.written()), told)
    assert parse_origin(bundle.load(told).origin, Q) == later
    assert len(list(told.glob("training-*.json"))) == 1
    bundle.save(make_model(2), told)
    assert bundle.load(told).origin is None
    assert not list(told.glob("training-*.json"))


def test_that_of_another_model_is_not_taken_for_its_own(told):
    edit(told, mpu_version="0")
    assert bundle.load(told).origin is None


def test_a_model_without_it_predicts(told):
    (file,) = told.glob("training-*.json")
    for damage in (lambda: file.write_bytes(b"\xff"), file.unlink, file.mkdir):
        damage()
        assert bundle.load(told).label_ids.tolist() == make_model().label_ids.tolist()


VALUES = json.loads(ORIGIN.written())
del VALUES["sha256"]


def signed(values: dict) -> bytes:
    return json.dumps(values | {"sha256": digest(values)}).encode()


DAMAGES = {
    "no JSON": b"{",
    "not UTF-8": b"\xff",
    "a list": b"[]",
    "deep": b"[" * 4000,
    "many marks": b"[" + b"[]," * 4000 + b"[]]",
    "twice": b'{"time": 1, "time": 2}',
    "another letter": ORIGIN.written().replace(b"news", b"neus"),
    **{
        str(change): signed(VALUES | change)
        for change in (
            {"format": "mpu model"},
            {"format_version": 2},
            {"files": [{"name": "a"}]},
            {"files": [{"name": "a", "bytes": "1", "sha256": None}]},
            {"more": 1},
            {"time": 3},
            {"instances": "many"},
            {"annotated": [1, 2]},
            {"annotated": [1, 2, 2**70]},
            {"true": None},
            {"versions": {"mpu": 1}},
        )
    },
    "without a value": signed({name: value for name, value in VALUES.items() if name != "kernel"}),
}


def test_a_file_that_has_changed_since_is_not_described(tmp_path):
    path = tmp_path / "x.svm"
    path.write_bytes(b"1 1:1\n")
    states = [state_of(path)]
    unknown = {"source": str(path), "files": [{"name": str(path), "bytes": None, "sha256": None}], "others": []}
    path.write_bytes(b"2 1:1\n2 1:1\n")
    assert described_files(path, states, {}) == unknown
    path.unlink()
    assert described_files(path, states, {}) == unknown


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_refused(damage):
    with pytest.raises(ValueError):
        parse_origin(DAMAGES[damage], Q)
