import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, hamming_loss, log_loss

from mpu_cli import jain_propensities, ranking_metrics
from mpu_cli.core.validation import deal
from mpu_cli.evaluation.compare import metric_names
from mpu_cli.experiment.cells import METRICS, Cell, Design, cell_of, measure
from mpu_cli.experiment.methods import fit_and_predict
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import Dataset
from tests.core.simulated import as_features, as_labels
from tests.experiment.small import BR, DESIGN, problem, run_cell


def test_metrics_are_those_of_evaluate_and_scikit_learns_on_the_test_fold():
    data = problem()
    row = run_cell(DESIGN, data, 2)
    assert cell_of(row) == DESIGN.cells()[2]
    assert (row["method"], row["missing_rate"], row["error"]) == (BR, 0.5, "")
    training, test, rows = DESIGN.split(data, cell_of(row))
    predictions = fit_and_predict(BR, training, test, Run())
    predicted = predictions.scores >= predictions.thresholds
    truth, complete = test.labels.toarray(), data.labels[rows].toarray()
    assert row["micro_f1"] == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert row["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro", zero_division=0))
    assert row["c"] == 1
    assert row["fit_seconds"] > 0 <= row["predict_seconds"]
    assert row.keys() & {*METRICS} == {*metric_names((1, 3, 5)), "brier", "log_loss", "ece"}
    assert row["log_loss"] == pytest.approx(log_loss(truth.ravel(), predictions.scores.astype(float).ravel()))
    expected = ranking_metrics(truth, predictions.scores, k=[1, 3, 5], propensities=jain_propensities(complete))
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert row["samples_recall"] > 0


def test_a_wrong_label_that_occurs_in_training_only_makes_the_hamming_loss_larger():
    truth, training = np.array([[1, 0, 0], [0, 1, 0]], bool), as_labels([[1, 1, 0], [0, 0, 1]])
    for predicted in (np.array([[1, 0, 0], [0, 0, wrong]], bool) for wrong in (0, 1)):
        found = measure(as_labels(truth), predicted.astype(np.float32), predicted, training, None)
        assert found["hamming_loss"] == pytest.approx(hamming_loss(truth, predicted))


def test_estimates_on_complete_labels_where_the_data_are_incomplete():
    data = problem()
    plain, row = (run_cell(DESIGN, data, 2, c=c) for c in (None, 0.5))
    assert all(row[name] == value for name, value in plain.items() if "seconds" not in name)
    added = {name: value for name, value in row.items() if name not in plain}
    assert all(name.startswith("corrected_") for name in added)
    assert added["corrected_micro_recall"] == plain["micro_recall"]
    assert added["corrected_micro_precision"] == min(2 * plain["micro_precision"], 1)


def test_a_label_that_training_lost_counts_as_missed():
    """Label 0 is everywhere and easy; label 1 is on one instance, so one fold has it in the test only."""
    Y = np.zeros((20, 2), bool)
    Y[:, 0] = True
    Y[7, 1] = True
    data = Dataset(as_labels(Y), as_features(np.ones((20, 1))))
    design = Design((BR,), (0.0,), (20,), folds=4, run_folds=4)
    missed = [i for i, rows in enumerate(deal(20, 4, 0)) if 7 in rows]
    row = run_cell(design, data, missed[0])
    assert (row["micro_f1"], row["macro_f1"]) == (pytest.approx(2 * 5 / (5 + 6)), pytest.approx(1 / 2))


def test_a_tuned_threshold_is_better_than_one_half_where_labels_are_missing():
    data = problem(600)
    design = Design((BR, f"{BR}:tuned=True"), (0.6,), (600,), folds=3, run_folds=1)
    own, tuned = (run_cell(design, data, which) for which in (0, 1))
    assert own["precision_at_1"] == tuned["precision_at_1"]
    assert tuned["micro_f1"] > own["micro_f1"]
    assert tuned["fit_seconds"] > own["fit_seconds"]
    assert 0 < tuned["c"] < 1 == own["c"]


@pytest.mark.parametrize("method", [BR, "sklearn.linear_model:LogisticRegression"])
def test_every_method_learns_from_scaled_features_if_their_sizes_differ_much(method):
    data, design = problem(600), Design((method,), (0.0,), (600,), folds=3, run_folds=1)
    differing = Dataset(data.labels, csr_array(data.features * np.float32([1e4, 1, 0.01, 1, 1])))
    same, scaled = (run_cell(design, each, 0)["micro_f1"] for each in (data, differing))
    assert scaled > same - 0.05


def test_test_folds_are_a_partition_with_complete_labels():
    data = problem()
    tests = [DESIGN.split(data, Cell("br", 0.5, fold, 60))[1] for fold in range(3)]
    assert (sum(map(len, tests)), sum(test.labels.nnz for test in tests)) == (60, data.labels.nnz)
    rows = {tuple(row) for test in tests for row in test.features.toarray().tolist()}
    assert rows == {tuple(row) for row in data.features.toarray().tolist()}


def test_methods_learn_from_the_same_instances_with_the_same_labels():
    data = problem()
    for rate in (0.0, 0.5):
        cells = (Cell(method, rate, 1, 40) for method in ("br", "mpu"))
        (one, one_test, _), (other, other_test, _) = (DESIGN.split(data, cell) for cell in cells)
        for a, b in ((one, other), (one_test, other_test)):
            assert (a.labels.toarray() == b.labels.toarray()).all()
            assert (a.features.toarray() == b.features.toarray()).all()


def test_the_removed_labels_of_a_fold_are_nested_over_rates():
    kept = [DESIGN.split(problem(), Cell("br", rate, 2, 60))[0].labels.toarray() for rate in (0, 0.2, 0.5)]
    assert kept[0].sum() > kept[1].sum() > kept[2].sum()
    assert (kept[2] <= kept[1]).all()


def test_a_larger_draw_contains_a_smaller_one():
    data = problem()
    drawn = []
    for size in (20, 40):
        parts = DESIGN.split(data, Cell("br", 0.0, 0, size))[:2]
        drawn.append({tuple(row) for part in parts for row in part.features.toarray().tolist()})
    assert [len(rows) for rows in drawn] == [20, 40]
    assert drawn[0] < drawn[1]


def test_equal_instances_are_in_one_fold():
    rng = np.random.default_rng(0)
    features = csr_array(np.tile(rng.random((100, 4)), (2, 1)).astype(np.float32))
    data = Dataset(csr_array(np.ones((200, 1), bool)), features)
    for fold in range(3):
        training, test, _ = DESIGN.split(data, Cell("br", 0.0, fold, 200))
        rows = ({tuple(row) for row in of.features.toarray().tolist()} for of in (training, test))
        assert not set.intersection(*rows)
