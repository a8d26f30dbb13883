"""Find the labels that are missing from a file: ``mpu complete``."""

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.cluster.address import OnCluster
from mpu_cli.commands.complete.implied import read_implications
from mpu_cli.commands.complete.missing_labels import find, refuse_stream, write_cells, write_filled
from mpu_cli.commands.predict.prediction import write_out_of_fold
from mpu_cli.core.complete.judged import Judged
from mpu_cli.core.complete.suggestions import Cells, Choice, Count
from mpu_cli.core.model.explanation import reasons
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.options import Options
from mpu_cli.core.train.evidence import Evidence
from mpu_cli.errors import MpuError
from mpu_cli.methods import Fitted
from mpu_cli.names import EVERY_LABEL, LabelNames, RecordIds, Suggestible
from mpu_cli.names.beside import find_broader
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.streams import refuse_unwritable
from mpu_cli.training import provenance
from mpu_cli.training.assembly import assembled, training_set
from mpu_cli.training.evidence import evidence_of
from mpu_cli.training.training_data import ReviewCounts, Sources, TrainingData, frequency_file

# Features that are named beside a suggestion, at most.
_MOST_REASONS = 5


@dataclass(frozen=True, kw_only=True)
class Report:
    """What `complete` did. Counts are expected ones, with 90 % intervals that hold if c is right, or are by answers.

    Attributes
    ----------
    missing, of_labels : Count
        How many labels are missing: in all, and of each.
    ids, annotations : ndarray of int, shape (q,)
        The label, as written in files, of each of these, and how many instances have it.
    cells : Cells
        Those listed, or to be filled in; columns are places in `ids`.
    record_ids : RecordIds or None
        The ids of instances, where they have some.
    listed_never_annotated : int
        How many of those are of labels that are never annotated.
    right : Count
        How many of those listed are right.
    worth_filling_in : int
        How many of them, the first ones, to fill in for the largest expected F1.
    filled_in : int or None
        How many labels were written into the copy of the data; None where suggestions were listed.
    expected_f1_before, expected_f1_after : float
        The expected micro-F1 of the labels of the data, as they are and with those that are worth filling in.
    review : ReviewCounts or None
        Counts of the decisions in review files.
    judged : Judged or None
        What was decided of single cells, by which the probabilities of those listed are corrected.
    answers : int
        Answers to questions, by which c is, and the probabilities and intervals are; 0 where there are none.
    names : LabelNames or None
        By which labels are shown.
    warnings : tuple of str
        What the user should know before trusting this.
    """

    missing: Count
    of_labels: Count
    ids: np.ndarray
    annotations: np.ndarray
    cells: Cells
    record_ids: RecordIds | None
    listed_never_annotated: int
    right: Count
    worth_filling_in: int
    filled_in: int | None
    expected_f1_before: float
    expected_f1_after: float
    review: ReviewCounts | None
    judged: Judged | None
    answers: int
    names: LabelNames | None
    warnings: tuple[str, ...]

    @property
    def listed(self) -> int:
        """How many are listed, or were to be filled in."""
        return len(self.cells)

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as one JSON object."""
        of_labels = zip(self.ids.tolist(), *map(np.ndarray.tolist, _parts(self.of_labels)), strict=True)
        return {
            **_interval("missing", self.missing),
            "listed": self.listed,
            "listed_never_annotated": self.listed_never_annotated,
            **_interval("right", self.right),
            "worth_filling_in": self.worth_filling_in,
            "filled_in": self.filled_in,
            "expected_f1_before": self.expected_f1_before,
            "expected_f1_after": self.expected_f1_after,
            **({} if self.review is None else {"review": asdict(self.review)}),
            **({} if self.judged is None else {"judged": asdict(self.judged)}),
            **({"answers": self.answers} if self.answers else {}),
            "per_label": {
                str(label): self._name(label) | {"missing": missing, "low": low, "high": high}
                for label, missing, low, high in of_labels
            },
        }

    def _name(self, label: int) -> dict[str, Any]:
        return {} if self.names is None else {"name": self.names.name(label)}


def _parts(count: Count) -> tuple:
    return count.expected, count.low, count.high


def _interval(name: str, count: Count) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), map(float, _parts(count)), strict=True))


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What `complete` writes: each file as a whole or not at all.

    Attributes
    ----------
    target : str, Path or None
        A review file in which nothing is decided, or a copy of the data. None: neither is written.
    fill : bool
        Whether it is a copy of the data with labels filled in.
    suspects : str, Path or None
        Where to list annotated labels that are probably false.
    out_of_fold : Path or None
        Where to write the predictions of the instances of the file by models that have not seen them.
    model : Path or None
        Where to save the model that was trained.
    by_number : bool
        Write numbers of labels also where names are known.
    suggestible : Suggestible
        Which labels are suggested.
    why : bool
        List beside suggestions the features that speak most for them.
    """

    target: str | Path | None = None
    fill: bool = False
    suspects: str | Path | None = None
    out_of_fold: Path | None = None
    model: Path | None = None
    by_number: bool = False
    suggestible: Suggestible = EVERY_LABEL
    why: bool = False


def complete(
    sources: Sources,
    outputs: Outputs,
    options: Options,
    choice: Choice,
    *,
    on: OnCluster | None = None,
    implied: str | Path | None = None,
    fill_implied: bool = False,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Find the labels that are missing from a file, and list them or fill them in.

    Parameters
    ----------
    sources : Sources
    outputs : Outputs
    options : Options
        As for `commands.train.training.train`.
    choice : Choice
        Which suggestions are wanted. A choice of nothing is one of all that raise the expected F1 of the labels.
    on : OnCluster, optional
        As for `commands.train.training.train`. Labels and predictions are fetched.
    implied : str or Path, optional
        A file of narrower and broader labels: what is implied is left out. Default: that beside the data, where they
        were made with a thesaurus.
    fill_implied : bool
        Fill in what is implied too.
    run : Run

    Raises
    ------
    InputError
        A file cannot be read, or not twice where labels are to be filled in.
    ClusterError
        The cluster cannot be reached, cannot be used, or has failed.
    MpuError
        The data cannot be learned from, or an output cannot be written.
    """
    implied = find_broader(sources.file) if implied is None else implied
    if fill_implied and implied is None:
        raise MpuError("nothing says which labels imply others, so none can be filled in; give --implied RULES")
    target, suspects, out_of_fold = outputs.target, outputs.suspects, outputs.out_of_fold
    inputs = {
        **sources.by_option(),
        "--c": frequency_file(options),
        "--implied": implied,
        **outputs.suggestible.by_option(),
    }
    written = {
        "--output": target,
        "--suspects": suspects,
        "--oof": out_of_fold,
        "--model": outputs.model,
        "--cache": sources.cache,
    }
    refuse_overlaps(inputs, written, ("--model",))
    refuse_unwritable(target, suspects, out_of_fold)
    if outputs.fill:
        refuse_stream(sources.file)
    warnings: list[str] = []
    with ExitStack() as stack:
        save = None if outputs.model is None else stack.enter_context(bundle.writer(outputs.model))
        data = stack.enter_context(training_set(sources, run, on, is_read_again=outputs.fill))
        problem, checksum = data.problem_and_checksum(run, with_checksum=not outputs.fill or suspects is not None)
        asked = data.resolved(options)
        implications = None if implied is None else read_implications(implied, data.names)
        names = None if outputs.by_number else data.names
        choice = replace(choice, columns=outputs.suggestible.of(data.ids, data.names))
        fitted = None
        if isinstance(data, TrainingData) and data.scores is not None:
            evidence = Evidence.of_scores(data.scores, problem, asked, run)
            warnings += [] if data.review is None else data.review.cautions()
        else:
            fitted = data.fit("mpu", asked, run, hold_out_all=True)
            evidence = evidence_of(fitted, problem)
        completion = find(evidence, problem, data.ids, choice, implications, run)
        filled = None
        if outputs.fill and target is not None:
            most = completion.filling_in.size if choice == Choice() else None
            rules = implications if fill_implied else None
            filled = write_filled(
                sources.file,
                target,
                completion,
                most,
                rules,
                sources.reading,
                data.instances_of_file,
                data.file_content,
            )
        elif target is not None:
            why = None
            if outputs.why and fitted is not None and isinstance(data, TrainingData):
                why = _why(fitted, problem.features, completion.listed, data, outputs.by_number)
            write_cells(target, completion.listed, completion, checksum, sources.file, names, data.record_ids, why)
        if suspects is not None:
            cells = completion.suspects(choice.top)
            if len(cells) > 1 and not cells.probabilities.any():
                warnings.append(
                    f"all {len(cells):,} suspects that are listed have probability 0: nothing tells them apart, and "
                    "they are in the order of the instances"
                )
            write_cells(suspects, cells, completion, checksum, sources.file, names, data.record_ids)
        if out_of_fold is not None and fitted is not None:
            write_out_of_fold(out_of_fold, fitted, data.ids, data.instances_of_file)
        if save is not None and fitted is not None:
            files = provenance.of_files(data.described(), sources.others())
            save(assembled(data, fitted, "mpu", options, run, files))
    return Report(
        missing=completion.of_all,
        of_labels=completion.of_labels,
        ids=completion.ids,
        annotations=np.diff(completion.annotated.tocsc().indptr),
        cells=completion.listed,
        record_ids=data.record_ids,
        listed_never_annotated=int(np.isin(data.ids[completion.listed.columns], data.never_annotated).sum()),
        right=completion.right,
        worth_filling_in=completion.filling_in.size,
        filled_in=filled,
        expected_f1_before=completion.filling_in.f1_before,
        expected_f1_after=completion.filling_in.f1_after,
        review=data.review,
        judged=completion.judged,
        answers=completion.answers,
        names=names,
        warnings=(*evidence.warnings, *warnings),
    )


def _why(fitted: Fitted, features: csr_array, listed: Cells, data: TrainingData, by_number: bool) -> list[str]:
    """Return, for each suggestion, the features that speak most for it, by name where they have names."""
    assert isinstance(fitted.model, StackedModel)
    names = None if by_number or data.vectorizer is None else data.vectorizer.features
    of_cells = reasons(fitted.model, features, listed.rows, listed.columns, _MOST_REASONS)
    return ["; ".join(str(j) if names is None else names[j - 1] for j in those) for those in of_cells]
