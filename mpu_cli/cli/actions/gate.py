"""The gate of ``mpu train --accept-on``: a new model replaces the present one if it is not worse."""

from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli import bundle
from mpu_cli.bundle import TrainedModel
from mpu_cli.bundle.loading import manifest_of
from mpu_cli.bundle.predicting import Fitness
from mpu_cli.bundle.writing import check_kept, kept, origin_of
from mpu_cli.cli.actions.evaluate import Truth, conclusion_on
from mpu_cli.cli.messages import warn
from mpu_cli.cli.options import KS, Acceptance
from mpu_cli.core.problem import hashes_of
from mpu_cli.errors import FilesError, InputError, ModelError, shown, without_secrets
from mpu_cli.evaluation.compare import Comparison, Counts, Difference, compare
from mpu_cli.inputs.training_data import TrainingData
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.text.stored import is_same, packed

_NEW, _PRESENT = "the new model", "the present one"
_FEW = 0.25  # of the true labels; far fewer agree if they are numbered from another base


class Gate:
    """The test that a new model must pass. Created before the training, so that errors are reported early.

    It predicts the test data with the present model and the kept ones. The caller must hold the lock of the model.
    """

    def __init__(self, acceptance: Acceptance, target: Path, reading: Reading, run: Run) -> None:
        self.acceptance, self.target, self.run = acceptance, target, run
        self.truth = Truth(str(acceptance.accept_on), reading, run)
        self.packed_vectorizer: bytes | None = None  # of the other models
        # Names and counts of the other models: the present model first, if it exists, then the kept ones
        self.others: list[tuple[str, Counts]] = []
        if not sum(chunk.labels.nnz for chunk in self.truth.chunks()):
            raise InputError(self.truth.file, "has no labels, so no model can be tested on it")
        older = check_kept(target, acceptance.keep)[: acceptance.keep]
        with run.step("testing earlier models"):
            for path in ([] if manifest_of(target) is None else [target]) + older:
                try:
                    model = bundle.load(path)
                except ModelError as error:
                    if path is target:
                        raise ModelError(
                            f"{error}; or put a kept model in its place, or train once without --accept-on: no model "
                            "can be compared with this one"
                        ) from error
                    warn(f"{error}; {path.name} is not compared with")
                    continue
                if not self.others:
                    self.packed_vectorizer = model.packed_vectorizer
                if is_same(model.packed_vectorizer, self.packed_vectorizer):
                    self.others.append((_PRESENT if path is target else path.name, self._tested(model)[0]))

    def refuse_unfit(self, data: TrainingData) -> None:
        """Raise FilesError if data here contain the test data, as one block, whatever their labels.

        Raise ModelError if their features have other numbers than the present model's: no test data would fit both.
        """
        seen = hashes_of(data.features)
        rows = np.arange(len(seen))
        every = (tested for chunk in self.truth.chunks() for tested in hashes_of(chunk.features))
        for done, tested in enumerate(every):
            rows = rows[rows + done < len(seen)]
            rows = rows[seen[rows + done] == tested]
            if not len(rows):
                break
        else:
            raise FilesError(
                f"--accept-on: the instances of {shown(self.truth.file)} are in the training data, from number "
                f"{rows[0] + 1} on; leave test data out of the training"
            )
        own, others = data.stored_vectorizer, self.packed_vectorizer
        if own is not None and others is not None and not is_same(others, packed(own)):
            raise ModelError(
                f"{self.target}: was trained on data of another vectoriser, so one TEST.svm cannot fit both "
                "models; make the data by mpu vectorize --like, or train once without --accept-on"
            )

    def test(self, model: TrainedModel, labels_expected: float) -> tuple[dict[str, Any], list[str]]:
        """Predict the test data with a new model, and decide; return the outcome, for the report, and warnings.

        `labels_expected`: true labels per instance.
        """
        metric = self.acceptance.accept_metric
        with self.run.step("testing the new model"):
            counts, fitness = self._tested(model)
            metrics, differences = compare([counts, *(one for _, one in self.others)], seed=self.run.seed)
        value, *values = (one[metric] for one in metrics)
        losses = [(one[metric].value, one[metric].high, one[metric].low) for one in differences]
        accepted, reason, gain = self._decided(value, values, [Difference(*(0 - end for end in of)) for of in losses])
        misfits = fitness.misfits(model)
        if counts.hits.sum() < _FEW * counts.truth.sum():
            misfits += fitness.shifts(model).values()
        if fitness.unknown == fitness.entries or fitness.strange == fitness.annotations:  # few instances suffice
            misfits.append("; ".join(fitness.notes(many=True)) or "no instance has a feature")
        if misfits:
            accepted, reason = False, f"the new model does not fit {shown(self.truth.file)}: {misfits[0]}"
        # Users move a model here to prevent its return.
        held = kept(self.target, "held")
        if accepted and held.exists():
            sums = _checksums(model, self.target)
            if sums and sums == _checksums(bundle.load(held), held):
                accepted = False
                reason = f"the new model was trained on the same data as {held.name}; remove that to accept it"
        predicted = counts.predicted
        outcome = {
            "accepted": accepted,
            "verdict": reason,
            "test_file": without_secrets(self.truth.file),
            "test_metric": metric,
            "test_value": value,
            "test_difference": gain,
            "unknown_features": fitness.unknown / max(fitness.entries, 1),
            "labels_per_instance": float(predicted.sum()) / predicted.shape[0],
            "labels_expected": labels_expected,
        }
        return outcome, [f"{self.truth.file}: {warning}" for warning in fitness.warnings(model)]

    def _decided(
        self, value: float, values: list[float], gains: list[Difference]
    ) -> tuple[bool, str, Difference | None]:
        """Decide by the metrics of the new model and the others, and by its differences from them.

        Return whether it is accepted, why, and the decisive difference, if there is another model.
        """
        if not gains:
            return True, f"{self.acceptance.accept_metric} {value:.3f}, and no other model to compare it with", None
        best = max(range(len(values)), key=values.__getitem__)  # the present one in case of a tie
        worse = [other for other in (0, best) if gains[other].high < 0]
        decisive = worse[0] if worse else 0
        said = conclusion_on(self.others[decisive][0], _NEW, self.acceptance.accept_metric, gains[decisive])
        return not worse, said, gains[decisive]

    def _tested(self, model: TrainedModel) -> tuple[Counts, Fitness]:
        # Label sets by the model's own thresholds
        comparison, fitness = Comparison("the model", labels=True, scores=True, ks=KS, keep=True), Fitness()
        for true, predicted in self.truth.predicted(model):
            fitness += Fitness.of(model, true.features, true.labels)
            comparison.add(true, predicted)
        return comparison.counts, fitness


def _checksums(model: TrainedModel, path: Path) -> list[str | None]:
    """Return the checksums of the data files of a model's training; an empty list if one is unknown."""
    if (origin := origin_of(model, path)) is None:
        return []
    sums = [file["sha256"] for file in origin.files]
    return sums if all(sums) else []
