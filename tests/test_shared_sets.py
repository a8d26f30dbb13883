import pytest


@pytest.mark.slow  # the digits are in every run
@pytest.mark.parametrize("shared_set", ["yeast"], indirect=True)  # the others take longer than a test should
def test_the_whole_job_on_a_real_set(run, shared_set, tmp_path):
    train, test = shared_set
    data, predictions = tmp_path / "yeast.svm.gz", tmp_path / "predictions.txt"
    run.ok("corrupt", train, data, "--missing-rate", 0.3, "--seed", 1)
    report = run.json("train", data)
    run.ok("predict", tmp_path / "yeast.mpu", test, "-o", predictions)
    real = run.json("evaluate", test, predictions)
    assert real["instances"] == len(predictions.read_text().splitlines())
    assert real["micro_f1"] > 0.62
    assert 0.5 < report["c"] <= 0.75
