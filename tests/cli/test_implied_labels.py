"""Labels that were filled in, since another label of their instance implies them, are known: they do not raise c."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.review_frequency import from_review
from mpu_cli.core.problem import VerifiedLabels
from tests.core.simulated import hide
from tests.slow import slow
from tests.svm import write

N, D = 1500, 20
LINEAR = "--features", "linear"  # the labels are, and the choice of a kernel takes long
RULES = {1: 7, 2: 7, 3: 7, 4: 8, 5: 8, 6: 8, 7: 9, 8: 9}


def filled(labels: np.ndarray) -> np.ndarray:
    """Fill in what labels imply."""
    labels = labels.copy()
    for narrower, broader in RULES.items():  # a label comes before those that it implies
        labels[:, broader - 1] |= labels[:, narrower - 1]
    return labels


def hierarchy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features, and labels of three levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    Y = X @ rng.normal(size=(D, 9)) > 4 + rng.normal(size=(N, 9))
    return X, filled(Y)


def write_rules(path):
    path.write_text("".join(f"{narrower}\t{broader}\n" for narrower, broader in RULES.items()))
    return path


@pytest.mark.parametrize(("c", "seed"), [(0.6, 0), *slow((0.4, 1), (0.6, 2), (0.8, 3))])
def test_filling_in_does_not_raise_c(run, tmp_path, c, seed):
    X, Y = hierarchy(seed)
    S = hide(Y, 1 - c, seed).toarray()
    rules = write_rules(tmp_path / "rules.tsv")
    path = write(tmp_path / "before.svm", X, S)
    before = run.json("estimate-c", path, "--implied", rules, *LINEAR)
    assert before == run.json("estimate-c", path, *LINEAR)  # in data as annotated, rules say nothing of c
    path = write(tmp_path / "after.svm", X, filled(S))
    after = run.json("estimate-c", path, "--implied", rules, *LINEAR)
    assert (before["c"], after["c"]) == (pytest.approx(c, abs=0.06), pytest.approx(before["c"], abs=0.06))
    assert run.json("estimate-c", path, *LINEAR)["c"] > after["c"] + 0.1  # without the rules
    assert after["missing"] == pytest.approx((Y & ~filled(S)).sum(), rel=0.35)


def test_groups_count_what_was_left_to_chance(run, tmp_path):
    X, Y = hierarchy(0)
    S = hide(Y, 0.4).toarray()
    (tmp_path / "groups").write_text("a\nb\n" * (N // 2))
    path, rules = write(tmp_path / "after.svm", X, filled(S)), write_rules(tmp_path / "rules.tsv")
    report = run.json("estimate-c", path, "--groups", tmp_path / "groups", "--implied", rules, *LINEAR)
    # Of the broader labels, those alone that no narrower one implies.
    implied = np.column_stack([filled(np.where(np.arange(9) < k, S, False))[:, k] for k in range(9)])
    assert sum(group["annotations"] for group in report["per_group"]) == (S & ~implied).sum()


def test_implied_labels_count_once_and_tell_nothing_of_c():
    """Instances 0 to 39 have the narrower label, 0; 40 to 59 the broader one alone, of which half are annotated."""
    S = np.zeros((100, 2), bool)
    S[:20] = True  # half of the narrower ones are annotated, and the broader label was filled in
    S[40:50, 1] = True
    implied = csr_array(np.pad(S[:, :1], ((0, 0), (1, 0))))
    verified = VerifiedLabels.of(S.shape).with_implied(implied, csr_array(S))
    assert LabelFrequency.of(0.5, S.shape, verified).true_labels(csr_array(S)).tolist() == [40, 20 + 20]
    assert verified.left_to_chance().by_chance(csr_array(S)).sum(axis=0).tolist() == [20, 10]
    assert LabelFrequency.of(0.5, S.shape, verified).of_cells(slice(20)).tolist() == [[0.5, 1]] * 20


def test_what_people_say_goes_before_what_is_implied():
    S = np.array([[1, 1], [1, 0], [1, 0], [1, 1]] + [[1, 1]] * 40, bool)
    implied = csr_array(np.pad(S[:, :1], ((0, 0), (1, 0))))
    verified = VerifiedLabels.of(S.shape, false=([0, 1], [1, 1]), complete=[2, 3])
    assert verified.with_implied(implied, csr_array(S)).verdicts()[:5, 1].tolist() == [2, 2, 2, 4, 4]


def test_implied_labels_of_a_sample_tell_nothing_of_c():
    """Ten sampled instances have both labels; five are annotated, and have the broader one since it was filled in."""
    S = np.array([[1, 1]] * 5 + [[0, 0]] * 5 + [[1, 1]] * 40, bool)
    implied, rows = csr_array(np.pad(S[:, :1], ((0, 0), (1, 0)))), np.arange(10)
    verified = VerifiedLabels.of(S.shape, true=(np.repeat(np.arange(5, 10), 2), [0, 1] * 5), complete=rows)
    before = from_review(csr_array(S), verified, rows)
    after = from_review(csr_array(S), verified.with_implied(implied, csr_array(S)), rows)
    assert (before.true.tolist(), after.true.tolist()) == ([10, 10], [10, 5])


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_data_in_which_implied_labels_are_often_absent_stay_as_they_are(share):
    S = np.ones((100, 2), bool)
    S[: round(100 * (1 - share)), 1] = False
    verified = VerifiedLabels.of(S.shape)
    assert verified.with_implied(csr_array(np.pad(S[:, :1], ((0, 0), (1, 0)))), csr_array(S)) is verified
