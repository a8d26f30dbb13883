import json

import numpy as np
import pytest

TRUTH = b"3,7 1:0.5 4:2\n1 2:1\n 3:1\n7 1:1\n"
LABELS = "7\n1,3\n\n7\n"
SCORES = "7:0.9 3:0.4 1:0.1\n1:0.8 3:0.6 7:0.2\n3:0.1\n3:0.7 7:0.6\n"


@pytest.fixture
def files(tmp_path):
    """Truth, label lists and scores."""
    contents = {"truth.svm": TRUTH.decode(), "labels.txt": LABELS, "scores.txt": SCORES}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in contents]


def label_lines(sets) -> str:
    """Label lists of an indicator matrix, a line each; labels start at 1."""
    return "".join(",".join(map(str, np.flatnonzero(row) + 1)) + "\n" for row in sets)


def score_lines(scores) -> str:
    """Score lists of a matrix, a line each; labels start at 1."""
    return "".join(
        " ".join(f"{label}:{score:.6g}" for label, score in enumerate(row, start=1)) + "\n" for row in scores
    )


def test_label_lists_as_json(run, files):
    truth, labels, _ = files
    report = json.loads(run("evaluate", truth, labels, "--json").stdout)
    assert (report["instances"], report["labels"]) == (4, 3)
    assert report["micro_f1"] == pytest.approx(3 / 4)
    assert report["subset_accuracy"] == 0.5
    assert "threshold" not in report
    assert "one_error" not in report


def test_scores_as_json(run, files):
    truth, _, scores = files
    report = json.loads(run("evaluate", truth, scores, "--json", "--k", "1,2").stdout)
    assert report["threshold"] == 0.5
    assert report["precision_at_1"] == 0.5
    assert report["one_error"] == 0.5
    assert report["coverage_error"] == pytest.approx((2 + 1 + 0 + 2) / 4)
    assert {"precision_at_2", "ndcg_at_2", "label_ranking_average_precision"} <= report.keys()
    assert "precision_at_3" not in report


def test_threshold_makes_the_label_sets(run, files):
    truth, _, scores = files
    recall = [
        json.loads(run("evaluate", truth, scores, "--json", "--threshold", threshold).stdout)["micro_recall"]
        for threshold in (0.4, 0.85, 1)
    ]
    assert recall == [1, 0.25, 0]


@pytest.mark.parametrize("header", ["", "3 10\n", "#\n3 10\n"])
def test_scores_that_are_no_probabilities(run, tmp_path, header):
    """Their threshold may be below 0; one that is, for probabilities, would predict all labels."""
    (tmp_path / "truth").write_text("1 0:1\n2 0:1\n1,2 0:1\n")
    (tmp_path / "scores").write_text(f"{header}1:-0.5 2:-3\n1:-4 2:-1.5\n1:-1 2:-2\n")
    result = run("evaluate", tmp_path / "truth", tmp_path / "scores", "--threshold", "-1.5", "--json")
    assert json.loads(result.stdout)["micro_recall"] == 0.75
    for comment in ("threshold -1.5", "thresholds 1:-1.5 2:-1.5e0"):
        (tmp_path / "scores").write_text(f"{header}1:-0.5 2:-3 # {comment}\n1:-4 2:-1.5\n1:-1 2:-2\n")
        result = run("evaluate", tmp_path / "truth", tmp_path / "scores", "--json")
        assert json.loads(result.stdout)["micro_recall"] == 0.75
    (tmp_path / "scores").write_text(f"{header}1:0.5 2:0.1 # threshold 0.2\n1:0.3 2:0.9\n1:1\n")
    assert (
        json.loads(run("evaluate", tmp_path / "truth", tmp_path / "scores", "--json").stdout)["micro_precision"] == 0.75
    )
    for others in ((), (tmp_path / "scores",)):
        result = run("evaluate", tmp_path / "truth", tmp_path / "scores", *others, "--threshold", "-1.5")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "scores: all scores are from 0 to 1; give --threshold such a number, not -1.5" in result.stderr


def test_a_threshold_for_scores_that_nobody_chose_is_warned_of(run, files):
    truth, _, scores = files
    for options in ((), ("--metrics", "micro_f1,one_error"), ("--metrics", "one_error", "--per-label"), ("--json",)):
        result = run("evaluate", truth, scores, *options)
        assert result.exit_code == 0
        assert result.stderr == (
            "warning: labels that score 0.5 or more count as predicted, since these scores carry no threshold of a "
            f"model, as those of `mpu predict` do; give --threshold, or label lists [mpu evaluate {truth}]\n"
        )


@pytest.mark.parametrize(
    "options", [("--threshold", 0.5), ("--metrics", "one_error,precision_at_1"), ("--metrics", "ndcg_at_3", "--json")]
)
def test_a_given_threshold_or_rankings_alone_are_not_warned_of(run, files, options):
    truth, _, scores = files
    assert run("evaluate", truth, scores, *options).stderr == ""


def test_readable_report(run, files):
    truth, labels, _ = files
    assert run("evaluate", truth, labels, "--metrics", "micro_f1,macro_f1", "--per-label").stdout == (
        "instances       4\n"
        "labels          3\n"
        "micro_f1   0.7500\n"
        "macro_f1   0.6667\n"
        "\n"
        "label  support  predicted  precision  recall      f1\n"
        "1            1          1     1.0000  1.0000  1.0000\n"
        "3            1          1     0.0000  0.0000  0.0000\n"
        "7            2          2     1.0000  1.0000  1.0000\n"
    )


def test_readable_report_of_incomplete_truth(run, files, tmp_path):
    truth, labels, _ = files
    names = tmp_path / "names"
    names.write_text("a\nb\nc\nd\ne\nf\ng\n")
    options = ("--metrics", "micro_precision,subset_accuracy", "--c", "0.8", "--per-label", "--labels", names)
    result = run("evaluate", truth, labels, *options)
    assert result.stderr == ""
    assert result.stdout == (
        "                  naive  corrected\n"
        "instances             4\n"
        "labels                3\n"
        "c                0.8000\n"
        "micro_precision  0.7500     0.9375\n"
        "subset_accuracy  0.5000\n"
        "\n"
        "Estimated precision exceeds 1 for 2 labels. It is cut to 1, but not in the macro average.\n"
        "\n"
        "label  name  support  predicted  precision  recall      f1"
        "  corrected_precision  corrected_recall  corrected_f1\n"
        "1         a        1          1     1.0000  1.0000  1.0000"
        "               1.0000            1.0000        1.0000\n"
        "3         c        1          1     0.0000  0.0000  0.0000"
        "               0.0000            0.0000        0.0000\n"
        "7         g        2          2     1.0000  1.0000  1.0000"
        "               1.0000            1.0000        1.0000\n"
    )


def test_json_of_each_label(run, files):
    truth, labels, _ = files
    report = json.loads(run("evaluate", truth, labels, "--json", "--per-label", "--c", "0.8").stdout)
    assert [row["label"] for row in report["per_label"]] == [1, 3, 7]
    assert report["per_label"][2]["corrected"] == {"precision": 1, "recall": 1, "f1": 1}
    assert report["corrected"]["clipped_labels"] == 2


def test_c_too_small_is_warned_of(run, files):
    truth, labels, _ = files
    result = run("evaluate", truth, labels, "--c", "0.5", "--json")
    assert "warning: " in result.stderr
    assert "--c 0.5 is probably too small" in result.stderr
    assert json.loads(result.stdout)["corrected"]["micro_precision"] == 1


def test_truth_without_labels_is_warned_of(run, files):
    truth, labels, _ = files
    truth.write_text(" 1:1\n" * 4)
    result = run("evaluate", truth, labels)
    assert result.exit_code == 0
    assert "warning: TRUTH has no labels" in result.stderr


def test_no_threshold_is_spoken_of_where_nothing_has_a_score(run, tmp_path):
    (tmp_path / "truth").write_text("1 1:1\n2 1:1\n")
    (tmp_path / "empty").write_text("\n\n")
    result = run("evaluate", tmp_path / "truth", tmp_path / "empty")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "threshold" not in result.stdout
    assert "precision_at_1" in result.stdout


def test_calibration(run, files):
    truth, labels, scores = files
    report = json.loads(run("evaluate", truth, scores, "--calibration", "--json").stdout)["calibration"]
    assert report["expected"] == pytest.approx(4.4)
    assert report["true"] == 4
    assert sum(row["scores"] for row in report["bins"]) == 9
    incomplete = json.loads(run("evaluate", truth, scores, "--calibration", "--c", "0.5", "--json").stdout)
    assert incomplete["calibration"]["true"] == 8
    result = run("evaluate", truth, scores, "--calibration")
    assert "The scores add up to 4.4 labels, and 4.0 are true" in result.stdout
    refused = run("evaluate", truth, labels, "--calibration")
    assert refused.exit_code == 1
    assert "calibration needs scores" in refused.stderr


def test_calibration_plot(run, files, tmp_path):
    pytest.importorskip("matplotlib")
    truth, _, scores = files
    assert run("evaluate", truth, scores, "--calibration-plot", tmp_path / "plot.png").exit_code == 0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert run("evaluate", truth, scores, "--calibration-plot", scores).exit_code == 2


TRAIN = "3,7 1:1\n7 1:1\n1 1:1\n7 1:1\n7 1:1\n"


def test_propensities_from_training_data(run, files, tmp_path):
    truth, _, scores = files
    (tmp_path / "train.svm").write_text(TRAIN)
    plain = json.loads(run("evaluate", truth, scores, "--json").stdout)
    report = json.loads(run("evaluate", truth, scores, "--json", "--training", tmp_path / "train.svm").stdout)
    names = [f"{name}_at_{k}" for name in ("psp", "psndcg") for k in (1, 3, 5)]
    *plain, last = plain
    assert list(report) == [*plain, *names, last]
    scale = (np.log(5) - 1) * 2.5**0.55
    rare, frequent = (1 + scale * (count + 1.5) ** -0.55 for count in (1, 4))
    # First labels: 7 (true), 1 (true), 3 (no true labels), 3 (7 is true); the best are 3 or 7, 1, none and 7.
    assert report["psp_at_1"] == pytest.approx((frequent + rare) / (rare + rare + frequent))
    assert report["psp_at_5"] == pytest.approx(1)

    options = ("--training", tmp_path / "train.svm", "--propensity-a", "0", "--metrics", "psp_at_1")
    assert json.loads(run("evaluate", truth, scores, "--json", *options).stdout)["psp_at_1"] == pytest.approx(2 / 3)


def test_propensities_from_label_frequencies(run, files, tmp_path):
    truth, _, scores = files
    frequencies = tmp_path / "c.txt"
    frequencies.write_text("1 0.5  # reviewed\n3 0.25\n7 1\n")
    found = json.loads(run("evaluate", truth, scores, "--json", "--frequencies", frequencies).stdout)
    assert found["psp_at_1"] == pytest.approx((1 + 2) / (4 + 2 + 1))
    frequencies.write_text("1 0.5\n7 1\n")
    result = run("evaluate", truth, scores, "--frequencies", frequencies)
    assert result.exit_code == 1
    assert f"{frequencies}: there is no line for label 3" in result.stderr


@pytest.mark.parametrize("comment", ["1.2.3", ".", "--1", "1e39", "1e999", "s 0:1.2.3", "s 0:. 1:.5", "s 0:1e39"])
def test_thresholds_that_are_none_or_beyond_32_bits_are_not_taken(run, tmp_path, comment):
    (tmp_path / "truth").write_text("0\n1\n")
    (tmp_path / "scores").write_text(f" 0:0.9 # threshold{'' if comment[0] == 's' else ' '}{comment}\n 1:0.2\n")
    result = run("evaluate", tmp_path / "truth", tmp_path / "scores", "--json")
    assert (result.exit_code, result.stderr.count("\n")) == (0, 1)
    assert result.stderr.startswith("warning: labels that score 0.5 or more")
    assert json.loads(result.stdout)["micro_recall"] == 0.5


def test_a_report_is_also_a_file(run, files, tmp_path):
    truth, labels, _ = files
    printed = run("evaluate", truth, labels, "--json", "--report", tmp_path / "r.json").stdout
    assert (tmp_path / "r.json").read_text() == printed
    shown = run("evaluate", truth, labels, "--report", tmp_path / "more.json").stdout
    assert shown.startswith("instances")
    assert (tmp_path / "more.json").read_text() == printed


def test_without_a_report_there_is_no_file(run, files, tmp_path):
    truth, labels, _ = files
    (tmp_path / "there.json").write_text("{}")
    for name in ("there.json", "new.json"):
        assert run("evaluate", truth, tmp_path / "nothing", "--report", tmp_path / name).exit_code == 1
    assert (tmp_path / "there.json").read_text() == "{}"
    assert not (tmp_path / "new.json").exists()
    assert "same file" in run("evaluate", truth, labels, "--report", labels).stderr
    assert labels.read_text() == LABELS


def test_metrics_that_are_too_low_have_an_exit_status(run, files, tmp_path):
    truth, labels, _ = files
    least = "--report", tmp_path / "r.json", "--fail-below"
    assert run("evaluate", truth, labels, *least, "micro_f1=0.1").exit_code == 0
    result = run("evaluate", truth, labels, *least, "micro_f1=0.1", "--fail-below", "macro_f1=0.99")
    assert (result.exit_code, result.stderr) == (3, "error: macro_f1 is 0.6667, below 0.99\n")
    assert json.loads((tmp_path / "r.json").read_text())["macro_f1"] < 0.99
    assert run("evaluate", truth, labels, *least, "ndcg_at_1=0.5").exit_code == 1  # it has no scores


@pytest.mark.parametrize("command", ["estimate-c", "info", "suggest"])
def test_other_reports_are_files_too(run, tiny_model, tmp_path, command):
    (tmp_path / "a.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30)
    source = tiny_model if command == "info" else tmp_path / "a.svm"
    more = ("-o", tmp_path / "list.tsv") if command == "suggest" else ()
    printed = run(command, source, *more, "--json", "--report", tmp_path / "r.json").stdout
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(printed)
    assert run(command, source, *more, "--report", source).exit_code > 0
    assert run(command, source, *more, "--report", tmp_path / "r.json").exit_code == 0  # it is as it was
