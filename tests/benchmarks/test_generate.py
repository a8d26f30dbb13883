import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.corpus import CHUNK, Corpus
from benchmarks.generate import DECIMALS, main
from mpu_cli.svmlight.reader import read


def generate(prefix, *options):
    result = CliRunner().invoke(main, [str(prefix), "--features", "1000", "--labels", "20", *options])
    assert result.exit_code == 0, result.output
    return prefix.with_name(f"{prefix.name}-train.svm"), prefix.with_name(f"{prefix.name}-test.svm")


def test_files_hold_the_documents(tmp_path):
    train, test = generate(tmp_path / "x", "--instances", "30", "--test-instances", "20", "--seed", "3")
    corpus = Corpus(1000, 20, seed=3)
    for part, (path, instances) in enumerate([(train, 30), (test, 20)]):
        (documents,) = corpus.chunks(instances, part)
        data = read(path)
        assert len(data) == instances
        np.testing.assert_array_equal(data.features.indices, documents.features.indices + 1)
        np.testing.assert_allclose(data.features.data, documents.features.data, atol=0.6 * 10**-DECIMALS)
        for row, drawn in enumerate(documents.drawn):
            assert sorted(data.labels[[row]].indices) == sorted(set(corpus.tree.paths[drawn].ravel().tolist()))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_fewer_instances_the_beginning(tmp_path):
    sizes = ("--test-instances", "5")
    one, _ = generate(tmp_path / "one", "--instances", "40", *sizes)
    again, _ = generate(tmp_path / "again", "--instances", "40", *sizes)
    fewer, _ = generate(tmp_path / "fewer", "--instances", "10", *sizes)
    other, _ = generate(tmp_path / "other", "--instances", "40", "--seed", "1", *sizes)
    assert one.read_bytes() == again.read_bytes() != other.read_bytes()
    assert one.read_bytes().startswith(fewer.read_bytes())
    assert fewer.read_bytes().count(b"\n") == 10


def test_documents_are_like_those_of_rcv1():
    """Labels are as many and as uneven; features as many, in vectors of unit length."""
    corpus = Corpus(features=20_000, labels=101, seed=5)
    (documents,) = corpus.chunks(CHUNK, part=0)
    labels = np.zeros((CHUNK, 101), bool)
    labels[np.arange(CHUNK)[:, None, None], corpus.tree.paths[documents.drawn]] = True
    assert labels.sum(axis=1).mean() == pytest.approx(3.2, abs=0.3)
    frequencies = labels.mean(axis=0)
    assert frequencies.max() == pytest.approx(0.47, abs=0.03)
    assert 30 <= np.count_nonzero(frequencies < 0.01) <= 70
    sizes = np.diff(documents.features.indptr)
    assert sizes.mean() == pytest.approx(76, abs=5)
    assert sizes.min() > 0
    assert documents.features.has_sorted_indices
    assert documents.features.data.min() > 0
    np.testing.assert_allclose(documents.features.multiply(documents.features).sum(axis=1), 1)
