import pytest

from mpu_cli.cli.actions import corrupt as module
from mpu_cli.cli.actions.corrupt import command as corrupt
from mpu_cli.errors import InputError
from mpu_cli.runtime.run import Run
from tests.cli.tables import label_sets
from tests.golden import refused
from tests.memory import peak

TEXT = (
    b"9 50 20\r\n1,2,3 1:0.50\t7:1 # a, b\r\n# comment 1,2\n4#x\n\n 3:1\n"
    b"5,6\t2:1e-3  4:5\n7 1:1\n8,9,10,11 1:2\n5:1\n12"
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.svm"
    path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize(("rate", "removed"), [(0, 0), (0.1, 1), (0.25, 3), (0.375, 4), (0.625, 8), (0.9, 11), (1, 12)])
def test_uniform_removes_exactly_the_share(source, tmp_path, rate, removed):
    for seed in range(5):
        report = corrupt(source, tmp_path / "out", rate, run=Run(seed=seed), removed=tmp_path / "removed")
        before, after = label_sets(source), label_sets(tmp_path / "out")
        assert (report["instances"], report["labels"], report["removed"]) == (9, 12, removed)
        assert sum(map(len, after)) == 12 - removed
        assert report["emptied"] == sum(bool(b) and not a for b, a in zip(before, after, strict=True))
        gone = [set() for _ in before]
        for line in (tmp_path / "removed").read_text().splitlines():
            instance, label = line.split("\t")
            gone[int(instance) - 1].add(int(label))
        assert [b - a for b, a in zip(before, after, strict=True)] == gone


def test_nothing_removed_is_a_copy_and_everything_removed_leaves_the_rest(source, tmp_path):
    corrupt(source, tmp_path / "out", 0)
    assert (tmp_path / "out").read_bytes() == TEXT
    corrupt(source, tmp_path / "out", 1)
    assert (tmp_path / "out").read_bytes() == (
        b"9 50 20\r\n 1:0.50\t7:1 # a, b\r\n# comment 1,2\n #x\n\n 3:1\n\t2:1e-3  4:5\n 1:1\n 1:2\n5:1\n "
    )


@pytest.mark.parametrize(
    "changed", [TEXT + b"\n" + b"1,2,3 1:1\n" * 10_000, TEXT[:40], TEXT.replace(b":", b":1"), b"x,2 1:1\n"]
)
@pytest.mark.parametrize("scheme", ["uniform", "label"])
def test_a_file_that_changes_meanwhile(source, tmp_path, monkeypatch, changed, scheme):
    choose = module._draw

    def choose_then_change(*args):
        draw = choose(*args)
        source.write_bytes(changed)
        return draw

    monkeypatch.setattr(module, "_draw", choose_then_change)
    with refused(InputError):
        corrupt(source, tmp_path / "out", 0.5, scheme=scheme)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow  # of predictions it is not
def test_memory_does_not_grow_with_the_file(tmp_path):
    line = b"1,2,3 " + b" ".join(b"%d:0.25" % index for index in range(1, 60)) + b"\n"
    peaks = []
    for repeats in (12_000, 48_000):  # either is many more blocks than are read ahead
        (tmp_path / "in").write_bytes(line * repeats)
        peaks.append(peak(lambda: corrupt(tmp_path / "in", tmp_path / "out", 0.5, removed=tmp_path / "removed")))
    # How many threads are at their peak at the same time is chance; what is kept of the larger file would not be.
    assert peaks[1] - peaks[0] < 0.2 * len(line) * 36_000
