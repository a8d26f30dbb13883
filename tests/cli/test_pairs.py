"""The commands read features and labels in two files, as of the Extreme Classification Repository, as one file."""

import pytest

from tests.cli.training import QUICK, TINY
from tests.folders import model_files


@pytest.fixture
def pair(tmp_path):
    """TINY in two files."""
    features, labels = tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt"
    rows = [line.split(" ", 1) for line in TINY.splitlines()]
    features.write_text("5 4\n" + "".join(f"{pairs}\n" for _, pairs in rows))
    labels.write_text("5 4\n" + "".join(f"{ids.replace(',', ':1 ')}:1\n" if ids else "\n" for ids, _ in rows))
    return features, labels


def test_train_and_predict(run, pair, tiny, tiny_model, tmp_path):
    for number, files in enumerate((pair[:1], pair, pair[::-1])):
        model = tmp_path / f"{number}.mpu"
        run.ok("train", *files, *QUICK, "-o", model)
        assert model_files(model) == model_files(tiny_model)
    predicted = [run("predict", tiny_model, file, "--format", "scores").stdout for file in (*pair, tiny)]
    assert predicted[0].count("\n") == 5
    assert len(set(predicted)) == 1


@pytest.mark.parametrize("which", [0, 1])
def test_evaluate_and_estimate_c(run, pair, tiny, tmp_path, which):
    (tmp_path / "predicted").write_text("1\n2\n1\n1\n\n")
    for command, *others in (("evaluate", tmp_path / "predicted"), ("estimate-c",)):
        of_pair, of_one = (run.json(command, file, *others) for file in (pair[which], tiny))
        assert of_pair == of_one


def test_corrupt_writes_one_file(run, pair, tiny, tmp_path):
    out = tmp_path / "out.svm"
    run.ok("corrupt", pair[0], out, "--missing-rate", 0.4)
    of_pair = out.read_text()
    run.ok("corrupt", tiny, out, "--missing-rate", 0.4)
    assert of_pair == "5 4 4\n" + out.read_text()


def test_corrupt_does_not_replace_the_labels(run, pair):
    before = pair[1].read_bytes()
    result = run("corrupt", *pair, "--missing-rate", 0.4)
    assert result.exit_code == 2
    assert pair[1].read_bytes() == before
