"""Find the labels that are missing from a file: ``mpu suggest``.

They are listed, or filled in in a copy of the file; or questions are drawn, whose answers estimate c.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.cli.actions import estimate_c
from mpu_cli.cli.messages import QUESTIONS, detail, info, output_report, present
from mpu_cli.cli.options import refuse_overlaps, refuse_set
from mpu_cli.core.explanation import named_reasons
from mpu_cli.core.frequency.questions import LEAST, OF_FALSE, OF_TRUE, Questions
from mpu_cli.core.implications import Implications
from mpu_cli.core.options import LINEAR, RBF, Options
from mpu_cli.core.predictions import Cells, values_at
from mpu_cli.core.problem import Verdict
from mpu_cli.core.sample import Estimates
from mpu_cli.core.stacking import StackedModel, train
from mpu_cli.errors import STANDARD_STREAM, InputError, MpuError, counted
from mpu_cli.inputs.training_data import TrainingData, TrainingFiles, read_training_data
from mpu_cli.names.naming import EVERY_LABEL, FILLED, IMPLIED, Suggestible, beside, place_beside
from mpu_cli.people.posteriors import Choice, Count, Evidence, Scored
from mpu_cli.people.suggestions import Suggestions, find
from mpu_cli.review import decisions
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import Files, Source, Writable, open_input, open_output, refuse_unwritable
from mpu_cli.svmlight.writer import labelled_lines


def write_filled(
    source: Source, target: str | Path, data: TrainingData, found: Suggestions, most: int | None, fill_implied: bool
) -> int:
    """Copy the data with suggestions and labels verified as true filled in, and labels verified as false removed.

    All other bytes are unchanged. The data are read again. The copy is written completely or not at all, and so are the
    list beside it, of labels that are true there and were never annotated, and the rules on broader labels.

    `most`: number of suggestions to fill in, the most probable ones; None: all that are listed.
    `fill_implied`: also fill in the labels implied by those of an instance, including the ones filled in.
    Returns: the number of labels filled in.
    """
    chosen = found.listed[:most]
    rows, columns = (
        np.concatenate(both) for both in zip(found.added.nonzero(), (chosen.rows, chosen.columns), strict=True)
    )
    labels = data.ids[columns]
    if fill_implied and data.implications is not None:
        more_rows, more_labels = _implied(data, found, chosen, data.implications)
        rows, labels = np.concatenate([rows, more_rows]), np.concatenate([labels, more_labels])
    order = np.lexsort((labels, rows))
    rows, labels = rows[order], labels[order]
    filled, copied = place_beside(target, FILLED), 0
    with open_input(str(source)) as stream, ExitStack() as stack, open_output(target, stack) as out:
        if filled is not None:
            decisions.write(stack.enter_context(open_output(filled)), rows, labels, of=source)
            if data.implications is not None:
                text = data.implications.lines()
                stack.enter_context(open_output(beside(target, IMPLIED))).write(text.encode())
        assert data.sidecars is not None  # they are of a file
        for block in labelled_lines(stream, str(source), data.sidecars.measures[str(source)]):
            count = len(block.sizes)
            there = np.repeat(np.arange(count), block.sizes)
            stays = _has(found.there[copied : copied + count], data.ids, there, block.labels)
            texts = block.chosen(stays)
            here = slice(*np.searchsorted(rows, [copied, copied + count]))
            for row, label in zip(rows[here].tolist(), labels[here].tolist(), strict=True):
                texts[row - copied].append(b"%d" % label)
            out.write(block.written(texts))
            copied += count
    return int(np.searchsorted(rows, copied))


def _implied(
    data: TrainingData, found: Suggestions, chosen: Cells, implications: Implications
) -> tuple[np.ndarray, np.ndarray]:
    """Return instances and labels implied by existing or chosen labels."""
    new = csr_array((np.ones(len(chosen), bool), (chosen.rows, chosen.columns)), shape=found.there.shape)
    wanted = np.union1d(data.ids, implications.labels())
    there, verified = csr_array(found.there + new), data.verified
    rows, columns = implications.implied(there, data.ids, wanted).nonzero()
    rows, labels = rows.astype(np.int64), wanted[columns]
    if verified is not None:  # people's decisions override implied labels
        there = csr_array(there + verified.cells.astype(bool))
    open_ = ~_has(there, data.ids, rows, labels)
    if verified is not None:
        open_ &= verified.instances[rows] == Verdict.UNKNOWN
    return rows[open_], labels[open_]


def _has(cells: csr_array, ids: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return which of some instances' labels are among some cells; `ids` are the labels of the cells' columns."""
    column = np.searchsorted(ids, labels).clip(max=len(ids) - 1)
    return (ids[column] == labels) & values_at(cells, rows, column)


class Listed(NamedTuple):
    """The results of `suggest`."""

    report: dict[str, Any]  # expected counts, with 90 % intervals; docs/reports.md describes the fields
    frequency: dict[str, Any] | None  # as `mpu estimate-c` reports it; None if the options set it
    found: Suggestions
    data: TrainingData
    estimates: Estimates
    model: StackedModel | None  # None if scores replace it

    @property
    def is_unchecked(self) -> bool:
        """Whether all results are based on annotations alone."""
        return self.frequency is not None and self.found.decided is None and self.estimates.reviewed is None

    @property
    def claim(self) -> str:
        """A sentence about the list, for messages."""
        n, low, high = (self.report[name] for name in ("listed", "right_low", "right_high"))
        if not n:
            return "no suggestion is probable enough to be listed"
        if not self.is_unchecked:
            return f"{n:,} are listed, of which about {self.report['right']:,.0f} are right ({low:,.0f} to {high:,.0f})"
        return (
            f"of these {n:,}, {low:,.0f} to {high:,.0f} may be right, by lists judged elsewhere, even where c is off; "
            f"to narrow this, decide 20 of them or answer 40 questions ({QUESTIONS})"
        )


def suggest(
    sources: TrainingFiles,
    options: Options,
    choice: Choice,
    run: Run,
    suggestible: Suggestible = EVERY_LABEL,
    is_read_again: bool = False,
) -> Listed:
    """Find the labels that are missing from a file.

    `options`: `c` may be the Path of a file.
    `choice`: which suggestions to list. An empty choice selects all that raise the expected F1 of the labels.
    `is_read_again`: whether the file will be read a second time.
    """
    data = read_training_data(sources, run, is_read_again=is_read_again)
    asked, model = data.resolved(options), None
    choice = replace(choice, columns=suggestible.of(data.ids, data.names, sources.file))
    if data.scores is not None:
        evidence = Evidence.of_scores(data.scores, data, asked, run)
    else:
        model, result = train(data, asked, run, hold_out_all=True)
        evidence = Evidence.of_training(result, data)
    warnings = data.warnings(evidence.estimates)
    found = find(evidence, data, data.ids, choice, data.implications, run)
    frequency = estimate_c.report_of(evidence.estimates, data) if options.c is None else None
    missing, right, each, filling_in = found.of_all, found.right, found.of_labels, found.filling_in
    report: dict[str, Any] = {
        "missing": None if missing is None else float(missing.expected),
        "missing_low": None if missing is None else float(missing.low),
        "missing_high": None if missing is None else float(missing.high),
        "missing_found": found.found,
        "listed": len(found.listed),
        "listed_never_annotated": int(np.isin(data.ids[found.listed.columns], data.never_annotated).sum()),
        "right": float(right.expected),
        "right_low": float(right.low),
        "right_high": float(right.high),
        "worth_filling_in": filling_in.size,
        "filled_in": None,
        "expected_f1_before": None if missing is None else filling_in.f1_before,
        "expected_f1_after": None if missing is None else filling_in.f1_after,
    }
    report |= present(
        review=data.review,
        judged=found.decided,
        answers=found.answers or None,
        c_assumption=None if frequency is None else frequency.get("assumption"),
    )
    counts = by_label(each, found)
    report["per_label"] = {
        label: ({"name": data.names.name(label)} if data.names else {}) | {"missing": of, "low": low, "high": high}
        for label, (of, low, high) in zip(data.ids.tolist(), counts, strict=True)
    }
    return Listed(report | {"warnings": warnings}, frequency, found, data, evidence.estimates, model)


def by_label(missing: Count | None, found: Suggestions) -> list[list[float]]:
    """Return the number of missing labels and the ends of its interval, of each label; NaN if unknown.

    c does not apply to labels that are never annotated: their numbers are NaN too, unless some were found.
    """
    if missing is None:
        return [[np.nan] * 3] * found.there.shape[1]
    counts = np.c_[missing.expected, missing.low, missing.high]
    counts[((found.there > found.added).sum(axis=0) == 0) & (counts[:, 0] == 0)] = np.nan
    return counts.tolist()


def _write_cells(out: Writable, cells: Cells | Questions, data: TrainingData, file: Source, **more: Any) -> None:
    """Write cells of the data with their probabilities, and more columns, as a review file without decisions."""
    more |= {"checksum": decisions.checksum(data.features[: data.instances_of_file]), "ids": data.record_ids}
    more |= {"probability": cells.probabilities, "of": file, "names": data.names}
    decisions.write(out, cells.rows, data.ids[cells.columns], **more)


def ask(
    sources: TrainingFiles, target: str, suggestible: Suggestible, n: int, options: Options, run: Run
) -> dict[str, int]:
    """Draw unannotated cells, and write them as a review file without decisions.

    `sources`: with reviews: cells answered there are not drawn again, and the answers determine which others are most
    informative.
    `n`: number of questions; drawn with the run's seed.
    Returns: the number of questions, fewer if more are not worthwhile, of instances and labels in them, and of
    previous answers.
    """
    data = read_training_data(sources, run, is_for_model=False)
    allowed = suggestible.of(data.ids, data.names, sources.file)
    drawn = Scored(data, replace(options, features=LINEAR), run, data.scores).questions(n, allowed)
    answered = 0 if data.answers is None else len(data.answers)
    by = f"by {answered} answers" if answered else "if half of the labels are missing"
    if not len(drawn):
        why = f"no label to ask about is missing with a probability of at least {LEAST:g}, {by}"
        to_check = "to check, review whole instances: mpu review FILE --sample 40"
        raise InputError(sources.file, f"there is nothing to ask: {why}; {to_check}")
    design = (
        "# write yes or no under verdict, line by line, without skipping hard ones; then give this file to --reviewed\n"
        "# questions drawn by chance: drawn is the probability with which a cell was; labels are drawn in proportion "
        f"to annotations^0.7, cells to r^{OF_TRUE:g} (1-r)^{OF_FALSE:g}; r is the probability of yes, at least "
        f"{LEAST:g}\n"
        f"# probability is that of yes, {by}\n"
    )
    with open_output(target) as out:
        out.write(design.encode())
        _write_cells(out, drawn, data, sources.file, source=decisions.QUESTION, drawn=drawn.chance)
    instances, labels = (len(np.unique(of)) for of in (drawn.rows, drawn.columns))
    return {"questions": len(drawn), "instances": instances, "labels": labels, "answered": answered}


def _refuse_files(sources: TrainingFiles, target: str, fill: bool, suggestible: Suggestible, options: Options) -> None:
    """Refuse, before any training, files that would overwrite each other, or cannot be written or read twice."""
    listed = place_beside(target, FILLED) if fill else None
    rules = None if listed is None or sources.rules is None else beside(target, IMPLIED)
    frequencies = options.c if isinstance(options.c, Path) else None
    inputs = sources.by_option() | {"--c": frequencies} | suggestible.by_option()
    written = {"--output": target, "the list beside --output": listed, "the rules beside --output": rules}
    refuse_overlaps(inputs, written)
    refuse_unwritable(target)
    if fill:
        if isinstance(sources.file, Files):
            raise InputError(sources.file, "labels can be filled in only one file at a time; give one FILE")
        if str(sources.file) == STANDARD_STREAM or not Path(sources.file).is_file():
            raise InputError(sources.file, "filling in labels reads the data twice; give a file")


def command(
    sources: TrainingFiles,
    output: str,
    format: str,
    top: int | None,
    min_probability: float | None,
    per_instance: int | None,
    questions: int | None,
    fill_implied: bool,
    why: bool,
    suggestible: Suggestible,
    options: Options,
    run: Run,
) -> None:
    fill, choice = format == "svm", Choice(top, min_probability, per_instance)
    if fill_implied and not fill:
        raise click.UsageError("--fill-implied needs --format svm.")
    if why and fill:
        raise click.UsageError("--why is for a list.")
    if why:
        if options.features == RBF:
            raise click.UsageError(
                "--why lists features of the data, and a model with --features rbf has no weights for these."
            )
        options = replace(options, features=LINEAR)
    if questions is not None:
        of_lists = "format", "top", "min_probability", "per_instance", "why", "label_features"
        refuse_set(of_lists, "--questions does not train a model or list suggestions: leave out {}.")
    elif sources.scores is not None:
        refuse_set(("why", "label_features"), "--scores replaces training: leave out {}.")
        if options != Options(c=options.c, folds=options.folds, sample=options.sample):
            raise click.UsageError("--scores replaces training: leave out options of training.")
    if fill_implied and sources.rules is None:
        raise MpuError("there are no rules for implied labels, so none can be filled in; give --implied RULES")
    _refuse_files(sources, output, fill, suggestible, options)
    if questions is not None:
        output_report(ask(sources, output, suggestible, questions, options, run), _print_questions)
        return
    made = suggest(sources, options, choice, run, suggestible, is_read_again=fill)
    found, data, report = made.found, made.data, made.report
    if fill:
        most = found.filling_in.size if choice.is_default else None
        report["filled_in"] = write_filled(sources.file, output, data, found, most, fill_implied)
        if place_beside(output, FILLED) is None:
            unlisted = "the filled-in labels are not listed beside the output, so they will count as annotated"
            report["warnings"].append(unlisted)
    else:
        reasons = None
        if why and made.model is not None:
            names = None if data.stored_vectorizer is None else data.stored_vectorizer.features
            each = named_reasons(made.model, data.features, found.listed.rows, found.listed.columns, names)
            reasons = list(map("; ".join, each))
        with open_output(output) as out:
            _write_cells(out, found.listed, data, sources.file, why=reasons)
    output_report(report, lambda _: _print_summary(made))


def _print_questions(asked: dict[str, int]) -> None:
    before = f"; {counted(asked['answered'], 'answer')} before" if asked["answered"] else ""
    info(
        f"{counted(asked['questions'], 'question')} on {counted(asked['instances'], 'instance')} and "
        f"{counted(asked['labels'], 'label')}{before}: write yes or no under verdict, and give the file to --reviewed"
    )


def _print_summary(made: Listed) -> None:
    report, decided = made.report, made.report.get("judged")
    if decided is not None:
        low, high = decided.interval
        info(
            f"of {decided.answered:,} answered, {decided.yes:,} were yes ({decided.yes / decided.answered:.0%}, "
            f"{100 * low:.0f} to {100 * high:.0f}); probabilities are corrected accordingly, assuming that nobody "
            "chose what to answer by whether it is right"
        )
    people = estimate_c.by_people((made.frequency or {}) | report)
    by = "if c is right" if made.frequency is None else "if c is in its interval"
    if people or decided is not None:
        by = f"by {' and '.join(people or ['c', 'the decisions'])}"
    missing = "how many labels are missing is unknown"
    if report["missing"] is not None:
        found = f"; {report['missing_found']:,} of them are found" * bool(report["missing_found"])
        low, high = report["missing_low"], report["missing_high"]
        where = " in instances not completely reviewed" * ("review" in report and report["review"].closed > 0)
        missing = f"about {report['missing']:,.0f} labels are missing{where} ({low:,.0f} to {high:,.0f}, {by}){found}"
    info("; ".join([made.claim, missing] if made.is_unchecked else [missing, made.claim]))
    if n := report["listed_never_annotated"]:
        info(f"{n:,} of those listed are of labels that are never annotated")
    if report["filled_in"] is not None:
        f1 = ""
        if report["expected_f1_before"] is not None:
            f1 = f"; expected micro-F1 of the labels {report['expected_f1_before']:.3f}"
            if n := report["worth_filling_in"]:
                f1 += f" before, and {report['expected_f1_after']:.3f} with the first {counted(n, 'suggestion')}"
            f1 += ", if c and the probabilities are right"
        info(f"{counted(report['filled_in'], 'label')} filled in{f1}")
    for label, of in report["per_label"].items():
        if not np.isnan(of["missing"]):
            name = f" ({of['name']})" if "name" in of else ""
            detail(f"label {label}{name}: {of['missing']:.1f} missing")
