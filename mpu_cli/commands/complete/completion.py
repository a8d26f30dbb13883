"""Find the labels that are missing from a file: ``mpu complete``."""

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.cluster.address import OnCluster
from mpu_cli.commands.complete import estimation
from mpu_cli.commands.complete.missing_labels import find, refuse_stream, write_cells, write_filled
from mpu_cli.commands.predict.prediction import write_out_of_fold
from mpu_cli.core.complete.suggestions import Cells, Choice, Judged
from mpu_cli.core.model.explanation import named_reasons
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.options import Options
from mpu_cli.core.train.evidence import Evidence
from mpu_cli.errors import STANDARD_STREAM, MpuError
from mpu_cli.methods import Fitted
from mpu_cli.names import EVERY_LABEL, LabelNames, RecordIds, Suggestible
from mpu_cli.names.naming import implication_lines, implied_file
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.report import HIDDEN, Count
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.streams import open_output, refuse_unwritable
from mpu_cli.training import provenance
from mpu_cli.training.assembly import assembled, evidence_of, training_set
from mpu_cli.training.training_data import ReviewCounts, Sources, TrainingData, frequency_file


@dataclass(frozen=True, kw_only=True)
class MissingOfLabel:
    """How many labels of one kind are missing, with an interval."""

    name: str | None = None
    missing: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Report:
    """What `complete` did. Counts are expected ones, with 90 % intervals that hold if c is right, or are by answers."""

    missing: float  #: How many labels are missing.
    missing_low: float
    missing_high: float
    listed: Count  #: How many are listed, or were to be filled in.
    listed_never_annotated: Count  #: How many of those are of labels that are never annotated.
    right: float  #: How many of those listed are right.
    right_low: float
    right_high: float
    worth_filling_in: Count  #: How many of them, the first ones, to fill in for the largest expected F1.
    #: How many labels were written into the copy of the data; None where suggestions were listed.
    filled_in: Count | None
    expected_f1_before: float  #: The expected micro-F1 of the labels of the data.
    expected_f1_after: float  #: The same with those that are worth filling in.
    review: ReviewCounts | None = None  #: Counts of the decisions in review files.
    #: What was decided of single cells, by which the probabilities of those listed are corrected.
    judged: Judged | None = None
    #: Answers to questions, by which c is, and the probabilities and intervals are; None where there are none.
    answers: Annotated[int, ("minimum", 1)] | None = None
    #: What c, and so all this, rests on where it comes from annotations alone.
    c_assumption: str | None = None
    per_label: dict[int, MissingOfLabel]
    #: `ids`, `annotations`: The labels, as written in files, and how many instances have each.
    ids: np.ndarray = field(metadata=HIDDEN)
    annotations: np.ndarray = field(metadata=HIDDEN)
    cells: Cells = field(metadata=HIDDEN)  #: Those listed, or to be filled in; columns are places in `ids`.
    record_ids: RecordIds | None = field(metadata=HIDDEN)  #: The ids of instances, where they have some.
    names: LabelNames | None = field(metadata=HIDDEN)  #: By which labels are shown.
    #: The label frequency that all this goes by, as `mpu estimate-c` reports it; None where the options have it.
    frequency: estimation.Report | None = field(metadata=HIDDEN)
    warnings: tuple[str, ...]  #: What the user should know before trusting this.


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What `complete` writes, by the options of `mpu complete`: each file as a whole or not at all."""

    # A review file in which nothing is decided or, if `fill`, a copy of the data. None: neither is written.
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
    fill_implied: bool = False,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Find the labels that are missing from a file, and list them or fill them in.

    `options`, `on`: as for `commands.train.training.train`. From a cluster, labels and predictions are fetched.
    `choice`: which suggestions are wanted. A choice of nothing is one of all that raise the expected F1 of the labels.
    `fill_implied`: fill in what is implied too, by the rules of `sources`.
    Raises InputError, ClusterError (as of `training_set`, or a file cannot be read twice where labels are to be filled
    in), MpuError (the data cannot be learned from, or an output cannot be written).
    """
    if fill_implied and sources.rules is None:
        raise MpuError("nothing says which labels imply others, so none can be filled in; give --implied RULES")
    target, suspects, out_of_fold = outputs.target, outputs.suspects, outputs.out_of_fold
    inputs = {
        **sources.by_option(),
        "--c": frequency_file(options),
        "--implied": sources.rules,
        **outputs.suggestible.by_option(),
    }
    rules_of_output = None
    if outputs.fill and target not in (None, STANDARD_STREAM) and sources.rules is not None:
        rules_of_output = implied_file(target)
    written = {
        "--output": target,
        "the rules beside --output": rules_of_output,
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
        names = None if outputs.by_number else data.names
        choice = replace(choice, columns=outputs.suggestible.beside(sources.file).of(data.ids, data.names))
        fitted = None
        if isinstance(data, TrainingData) and data.scores is not None:
            evidence = Evidence.of_scores(data.scores, problem, asked, run)
            warnings += [] if data.review is None else data.review.cautions()
        else:
            fitted = data.fit("mpu", asked, run, hold_out_all=True)
            evidence = evidence_of(fitted, problem)
        completion = find(evidence, problem, data.ids, choice, data.implications, run)
        filled = None
        if outputs.fill and target is not None:
            most = completion.filling_in.size if choice == Choice() else None
            rules = data.implications if fill_implied else None
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
            if rules_of_output is not None and data.implications is not None:
                with open_output(rules_of_output) as out:
                    out.write(implication_lines(data.implications.next_broader()).encode())
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
    frequency = estimation.report_of(evidence.estimates, data) if options.c is None else None
    missing, right, each = completion.of_all, completion.right, completion.of_labels
    of_labels = zip(completion.ids.tolist(), np.c_[each.expected, each.low, each.high].tolist(), strict=True)
    return Report(
        missing=float(missing.expected),
        missing_low=float(missing.low),
        missing_high=float(missing.high),
        listed=len(completion.listed),
        listed_never_annotated=int(np.isin(data.ids[completion.listed.columns], data.never_annotated).sum()),
        right=float(right.expected),
        right_low=float(right.low),
        right_high=float(right.high),
        worth_filling_in=completion.filling_in.size,
        filled_in=filled,
        expected_f1_before=completion.filling_in.f1_before,
        expected_f1_after=completion.filling_in.f1_after,
        review=data.review,
        judged=completion.judged,
        answers=completion.answers or None,
        per_label={
            label: MissingOfLabel(name=None if names is None else names.name(label), missing=of, low=low, high=high)
            for label, (of, low, high) in of_labels
        },
        ids=completion.ids,
        annotations=np.diff(completion.annotated.tocsc().indptr),
        cells=completion.listed,
        record_ids=data.record_ids,
        names=names,
        frequency=frequency,
        c_assumption=None if frequency is None else frequency.assumption,
        warnings=(*evidence.warnings, *warnings),
    )


def _why(fitted: Fitted, features: csr_array, listed: Cells, data: TrainingData, by_number: bool) -> list[str]:
    """Return, for each suggestion, the features that speak most for it, by name where they have names."""
    assert isinstance(fitted.model, StackedModel)
    names = None if by_number or data.stored_vectorizer is None else data.stored_vectorizer.features
    return list(map("; ".join, named_reasons(fitted.model, features, listed.rows, listed.columns, names)))
