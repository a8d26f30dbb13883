import numpy as np
import pytest

from mpu_cli.commands.estimate_c import estimate
from mpu_cli.errors import InputError
from mpu_cli.inputs.side_tables import read_frequencies
from mpu_cli.inputs.training_data import Sources
from mpu_cli.runtime.report import as_json
from tests.golden import refused


@pytest.fixture
def source(tmp_path):
    """Three labels that the features tell apart, some at once; of label 3, all but 40 annotations are missing."""
    lines = [f"{k + 1 if k < 2 or i < 120 else ''} {k + 1}:1\n" for i in range(300) for k in [i % 3]]
    lines += ["1,2 1:1 2:1\n"] * 20
    path = tmp_path / "data.svm"
    path.write_text("".join(lines))
    return path


def test_the_report(source):
    report = estimate(Sources(source))
    assert (report.instances, report.labels, report.method) == (320, 3, "bbe")
    assert report.missing_rate == 1 - report.c
    assert report.interval[0] <= report.c <= report.interval[1]
    assert report.per_label is None
    assert "per_label" not in as_json(report)


def test_each_label_and_the_file_of_frequencies(source, tmp_path):
    report = estimate(Sources(source), per_label=True, output=tmp_path / "frequencies")
    assert [(row.label, row.annotations, row.pooled) for row in report.per_label] == [
        (1, 120, False),
        (2, 120, False),
        (3, 40, True),
    ]
    assert report.per_label[2].c == report.c
    frequencies = [row.c for row in report.per_label]
    np.testing.assert_allclose(read_frequencies(tmp_path / "frequencies", np.array([1, 2, 3])), frequencies, rtol=1e-5)
    assert as_json(report)["per_label"][2]["pooled"] is True


def test_it_prints_nothing(source, capfd):
    estimate(Sources(source), per_label=True)
    assert capfd.readouterr() == ("", "")


def test_a_file_without_labels(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(" 1:1\n")
    with refused(InputError, "data.svm: "):
        estimate(Sources(path))
