"""Verified labels, complete label sets, and features of labels on a cluster."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpu_cli.commands.train import Saving, train
from mpu_cli.core.options import Options
from mpu_cli.errors import InputError, MpuError
from mpu_cli.inputs.training_data import Sources
from mpu_cli.review.tables import checksum, checksum_comment
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import Files
from tests.cluster.conftest import OPTIONS, write_parts
from tests.commands.test_implied_labels import filled, hierarchy, write, write_rules
from tests.core.simulated import hide, linear_problem
from tests.endurance.commands import model_files
from tests.slow import slow

# What one worker learns, as one machine does; and what all learn.
FEW, LARGE = Options(cost=3.0, eta0=1.0, epochs=2, levels=2), OPTIONS
N, D, Q = 400, 8, 5


def write_review(path: Path, files: list[str], every: int = 5) -> Path:
    """Review every so many instances completely; label 7 is said to be true of one of them."""
    data = read(Files(files))
    _, Y = linear_problem(N, D, Q, 0)
    annotated = data.labels.toarray()
    lines = [checksum_comment(checksum(data.features)), "instance\tlabel\tverdict\tsource\n", "3\t7\tyes\tsuggestion\n"]
    for i in range(0, len(data), every):
        true = np.union1d(np.flatnonzero(Y[i]), np.flatnonzero(annotated[i]))
        lines += [f"{i + 1}\t{k}\tyes\tsample\n" for k in true] + [f"{i + 1}\t*\tno\tsample\n"]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def given(files, tmp_path) -> dict[str, dict[str, object]]:
    """Files with what is given of labels, as `Sources` and `train` take them."""
    X, Y = linear_problem(N, D, Q, 0)
    (tmp_path / "more").mkdir()
    more = write_parts(tmp_path / "more", 1, seed=0)[0]
    vectors = np.linalg.lstsq(X, Y - 0.5, rcond=None)[0].T
    of_labels = [
        f"{k}" + "".join(f" {j + 1}:{v:.4f}" for j, v in enumerate(vector)) for k, vector in enumerate(vectors)
    ]
    (tmp_path / "labels.svm").write_text("\n".join([*of_labels, "9 2:1 40:1"]) + "\n")
    return {
        "reviewed": {"reviewed": [write_review(tmp_path / "checked.tsv", files)], "reviewed_wins": True},
        "fully labelled": {"fully_labelled": more},
        "label features": {"label_features": tmp_path / "labels.svm"},
    }


def learned(file, target: Path, options: Options, asked: list[dict[str, object]], on=None):
    """Train with some of these files; return the report without what tells machines apart, and the model's files."""
    chosen = {name: value for of_one in asked for name, value in of_one.items()}
    oof = target.with_suffix(".oof")
    report = train(Sources(file, **chosen), target, options, on=on, saving=Saving(out_of_fold=oof))
    origin = json.loads(next(target.glob("training-*.json")).read_text())
    counts = [origin[name] for name in ("instances", "annotated", "true", "others")]
    return (
        replace(report, model=None, seconds={}, cluster=None, peak_bytes=0),
        model_files(target),
        oof.read_text(),
        counts,
    )


@pytest.mark.parametrize(
    "which",
    [
        "reviewed, fully labelled, label features",
        *slow("reviewed", "fully labelled", "label features", "reviewed, fully labelled"),
    ],
)
def test_few_instances_are_learned_by_one_worker_as_by_a_single_machine(files, on, given, tmp_path, which):
    asked = [given[what] for what in which.split(", ")]
    there = learned(Files(files), tmp_path / "a.mpu", FEW, asked, on)
    assert there == learned(Files(files), tmp_path / "b.mpu", FEW, asked)


def test_labels_that_were_filled_in_are_known_as_on_a_single_machine(on, tmp_path):
    X, Y = hierarchy(0)
    labels = filled(hide(Y, 0.4).toarray())
    files = [str(write(tmp_path / f"{i}.svm", X[i::2], labels[i::2])) for i in range(2)]
    asked = [{"implied": write_rules(tmp_path / "rules.tsv")}]
    there = learned(Files(files), tmp_path / "a.mpu", FEW, asked, on)
    assert there == learned(Files(files), tmp_path / "b.mpu", FEW, asked)
    assert there[0].findings["c"] == pytest.approx(0.6, abs=0.06)


@pytest.mark.parametrize("which", ["reviewed, label features", *slow("reviewed", "label features")])
def test_one_part_gives_the_model_of_a_single_machine(files, on, given, tmp_path, which):
    asked = [given[what] for what in which.split(", ")]
    if "reviewed" in which:
        asked.append({"reviewed": [write_review(tmp_path / "of-one.tsv", files[:1], every=3)]})
    options = replace(LARGE, sample=40, cost=3.0, eta0=1.0)
    there = learned(files[0], tmp_path / "a.mpu", options, asked, on)
    assert there == learned(files[0], tmp_path / "b.mpu", options, asked)


def test_parts_learn_from_all_of_it(files, on, given, tmp_path):
    report, _, oof, _ = learned(Files(files), tmp_path / "a.mpu", LARGE, list(given.values()), on)
    here, *_ = learned(Files(files), tmp_path / "b.mpu", LARGE, list(given.values()))
    assert (report.instances, report.labels, report.features) == (here.instances, here.labels, here.features)
    assert report.review == here.review
    assert (report.annotations, report.labels_never_annotated, report.warnings) == (here.annotations, 2, here.warnings)
    assert len(oof.splitlines()) == N
    there, alone = report.findings, here.findings
    assert (there["c_by_people"], there["c"]) == (alone["c_by_people"], alone["c"])
    assert there["expected_micro_f1"] == pytest.approx(alone["expected_micro_f1"], abs=0.05)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("401\t1\tyes\n", "there is no instance 401"),
        ("1\t1\tyes\n1\t1\tno\n", "checked.tsv:3"),
        (f"# checksum {'0' * 64}\n", "its checksum differs"),
    ],
)
def test_a_review_that_does_not_fit_is_told_as_on_one_machine(files, on, tmp_path, lines, said):
    review = tmp_path / "checked.tsv"
    review.write_text("instance\tlabel\tverdict\n" + lines)
    sources, told = Sources(Files(files), reviewed=[review]), []
    for where in (None, on):
        with pytest.raises(InputError, match=said) as error:
            train(sources, tmp_path / "a.mpu", LARGE, on=where)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert not (tmp_path / "a.mpu").exists()


def test_a_weight_of_features_of_labels_that_are_not_there_is_told(sources, on, tmp_path):
    with pytest.raises(MpuError, match="--prior 3 is the weight of the features of labels, and there are none"):
        train(sources, tmp_path / "a.mpu", replace(LARGE, prior=3.0), on=on)
