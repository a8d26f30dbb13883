import numpy as np

from mpu_cli.cli.estimate_c import estimate
from mpu_cli.cli.evaluate import read_propensities
from mpu_cli.errors import InputError
from mpu_cli.evaluation.propensities import jain_propensities
from mpu_cli.inputs.training_data import Sources
from mpu_cli.svmlight.streams import BLOCK_BYTES
from tests.golden import refused


def test_annotations_are_counted_over_all_of_a_file(tmp_path):
    lines = ["2,5 1:1\n", "5 1:1\n", " 1:1\n", "# a comment\n", "\n"]
    times = 2 * BLOCK_BYTES // len("".join(lines)) + 1  # in more than one chunk
    (tmp_path / "train.svm").write_text("".join(lines) * times)
    found = read_propensities(str(tmp_path / "train.svm"), None, a=0.6, b=2.6)
    expected = jain_propensities([times, 2 * times, 0], 4 * times, 0.6, 2.6)
    np.testing.assert_allclose(found.inverse(np.array([2, 5, 7])), 1 / expected)


def test_frequencies_in_any_order(tmp_path):
    (tmp_path / "c.txt").write_text("7 0.5\n2 0.25\n")
    np.testing.assert_array_equal(read_propensities(None, str(tmp_path / "c.txt")).inverse(np.array([2, 7])), [4, 2])


def test_no_frequency_at_all(tmp_path):
    (tmp_path / "c.txt").write_text("# nothing\n")
    with refused(InputError):
        read_propensities(None, str(tmp_path / "c.txt")).inverse(np.array([2]))


def test_what_estimate_c_writes_is_read(tmp_path):
    data = tmp_path / "data.svm"
    data.write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30)
    estimate(Sources(str(data)), per_label=True, output=str(tmp_path / "c.txt"))
    inverse = read_propensities(None, str(tmp_path / "c.txt")).inverse(np.array([1, 2]))
    assert (inverse >= 1).all()
