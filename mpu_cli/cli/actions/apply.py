"""Write accepted labels back into the records that the data were made from: ``mpu apply``."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

import click
import numpy as np

from mpu_cli.cli.messages import info, output_report, warn
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.core.implications import Implications
from mpu_cli.core.problem import HowDecided
from mpu_cli.errors import InputError, counted, shown
from mpu_cli.names.label_names import LabelNames, is_uri, repeated_id
from mpu_cli.names.lines import at_line
from mpu_cli.names.naming import BESIDE, FOLDER, IDS, beside, place_beside
from mpu_cli.review import decisions
from mpu_cli.review.decisions import NOTHING_ELSE
from mpu_cli.review.matching import match, suggestions_of
from mpu_cli.svmlight.grammar import COMPRESSED, Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import Measured, open_output, refuse_unreadable, stem
from mpu_cli.text.labels import Labels
from mpu_cli.text.records import ANNIF, Record, RecordReader, form_and_fields, format_of, is_corpus, open_records
from mpu_cli.text.rewriting import Reason, Retagged, Rewriter
from mpu_cli.text.stored import Sidecars
from mpu_cli.text.vectorizer import read_vectorization

_DATA_SUFFIXES = tuple(f".svm{suffix}" for suffix in ("", *COMPRESSED))
# Number of decisions needed to estimate how much of a list is correct; with fewer, the user must confirm.
_ENOUGH = 20


@dataclass
class _Changes:
    """Labels to add to an instance, labels decided ``no``, and whether no other label is true."""

    add: dict[int, Reason] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    closed: bool = False


def _data_beside(source: str | Path) -> Path:
    """Return the data file beside records that has their name or, if none has, the one that was made from them."""
    there = [path for path in Path(source).parent.glob("*.svm*") if path.name.endswith(_DATA_SUFFIXES)]
    there = [path for path in there if beside(path, FOLDER).is_dir()]
    there = [path for path in there if stem(path) == stem(source)] or [
        path
        for path in there
        if (records := Sidecars(path).records()) is not None and Path(records.file).resolve() == Path(source).resolve()
    ]
    if len(there) != 1:
        if not Path(source).is_dir():
            refuse_unreadable([str(source)])
        made = f"{len(there) or 'no'} data files beside it were made of these records by mpu vectorize"
        raise InputError(source, f"{made}; name the right one by --data")
    return there[0]


def _changes(decided: decisions.Decisions) -> defaultdict[int, _Changes]:
    changes: defaultdict[int, _Changes] = defaultdict(_Changes)
    cells = zip(decided.instance.tolist(), decided.label.tolist(), decided.verdict.tolist(), strict=True)
    for instance, label, is_true in cells:
        if is_true:
            changes[instance].add[label] = "decided"
        elif label == NOTHING_ELSE:
            changes[instance].closed = True
        else:
            changes[instance].refused.add(label)
    return changes


def _on_suggestions(decided: decisions.Decisions, listed: decisions.Decisions) -> int:
    """Count the decisions on suggestions of this list, or of an earlier one: `mpu suggest` does not list them again."""
    is_other = decided.is_sample | ~np.isnan(decided.chance) | (decided.label == NOTHING_ELSE)
    is_earlier = ~is_other & (decided.origin >= HowDecided.UNKNOWN) & ~np.isin(decided.cells(), listed.cells())
    return int(np.count_nonzero(is_earlier) + np.count_nonzero(decided.settle(listed)))


def _retagged(
    record: Record, change: _Changes, names: LabelNames, labels: Labels, rules: Implications, remove: bool, by_uri: bool
) -> Retagged:
    """Return the changes to a record's tags; it may already have some of the new ones."""
    of_label = {tag: labels.number(tag) for tag in record.tags}
    new = {label: origin for label, origin in change.add.items() if label not in of_label.values()}
    unwanted = change.refused if remove else set()
    if not change.closed:
        there = {label for label in of_label.values() if label is not None} | {*new}
        implied = {wide for label in there - unwanted for wide in rules.broader(label)}
        new |= dict.fromkeys(sorted(implied - there - change.refused), "implied")
    if nameless := [label for label in new if label not in names.by_number]:
        raise ValueError(f"label {nameless[0]} has no name, so it cannot be added here; remove it from the decisions")
    by_uri |= bool(record.tags) and all(map(is_uri, record.tags))
    by_notation = bool(of_label) and all(label and labels.notation(label) == tag for tag, label in of_label.items())
    added: dict[str, Reason] = {}
    for label, origin in new.items():
        name = names.name(label)
        notation = labels.notation(label) if by_notation else None
        tag = notation or (names.uri(label) if by_uri or labels.number(name) != label else None) or name
        if tag not in record.tags:
            added.setdefault(tag, origin)
    return Retagged(added, frozenset(tag for tag, label in of_label.items() if label in unwanted))


def command(
    source: str,
    output: str,
    data: str | None,
    format: str | None,
    reading: Reading,
    reviewed: tuple[str, ...],
    suggestions: str | None,
    min_probability: float | None,
    yes: bool,
    remove_rejected: bool,
    fill_implied: bool,
) -> None:
    if not reviewed and suggestions is None and not fill_implied:
        raise click.UsageError("Give --reviewed CHECKED.tsv, or --suggestions MISSING.tsv with --min-probability.")
    if (suggestions is None) != (min_probability is None):
        raise click.UsageError("--suggestions and --min-probability belong together.")
    chosen, _ = form_and_fields(source, format)
    written = "tsv" if chosen == ANNIF else chosen
    named = format_of(output)
    is_unclear = named is None and Path(source).is_dir() and place_beside(output, FOLDER) is not None
    if is_unclear or named not in (None, format_of(source), written):
        raise InputError(output, f"the records are written as {written}, so its name should end in .{written}")
    data = str(_data_beside(source)) if data is None else data
    inputs = {"RECORDS": source, "--suggestions": suggestions, "--data": data, "--reviewed": reviewed}
    refuse_overlaps(inputs, {"--output": output})
    vectorizer, labels = read_vectorization(data)
    fields = vectorizer.stored().fields
    sidecars = Sidecars(data)
    dataset = read(data, reading, measures=sidecars.measures)
    sidecars.refuse(IDS)
    ids = sidecars.ids(len(dataset))
    names = sidecars.names_of(BESIDE, np.arange(1, len(labels) + 1))
    files = {file: decisions.read_lines(file, names, ids) for file in filter(None, (*reviewed, suggestions))}
    decided = decisions.read(files.values(), names, ids, dataset.labels)
    match(decided, dataset, data)
    changes = _changes(decided)
    if suggestions is not None:
        if (n := _on_suggestions(decided, files[suggestions])) < _ENOUGH and not yes:
            raise InputError(
                suggestions,
                f"{counted(n, 'decision')} on suggestions cannot show how many of the list are right: decide {_ENOUGH} "
                "of it and give the file to --reviewed, here and in mpu suggest; or add --yes",
            )
        suggested = suggestions_of(files[suggestions], dataset, data)
        suggested = suggested[np.isnan(suggested.chance) & (suggested.probability >= (min_probability or 0.0))]
        for lines in files.values():  # `decided` lacks cells on which they contradict each other
            suggested = suggested[~lines[lines.is_decided].settle(suggested)]
        for instance, label in zip(suggested.instance.tolist(), suggested.label.tolist(), strict=True):
            changes[instance].add[label] = "suggested"
    # Records without ids are identified by number, from 0.
    by_key: dict[str | int, _Changes] = {}
    for instance, wanted in changes.items():
        if not (wanted.add or (remove_rejected and wanted.refused) or fill_implied):
            continue
        with at_line(beside(data, FOLDER) / IDS, instance + 1):
            by_key[instance if ids is None else ids.unique(instance)] = wanted
    used: set[str | int] = set()
    counts = Counter[str]()
    rules = labels.broader if fill_implied else Implications(())
    if fill_implied and not rules:
        raise InputError(beside(data, FOLDER), "there are no rules for implied labels, so none can be filled in")
    by_uri = is_corpus(chosen, fields)
    made_from = sidecars.records()
    with open_records(source) as opened, open_output(output) as out:
        stream = Measured(opened)

        def change_of(record: Record) -> Retagged:
            key = counts["records"] if ids is None else record.id or ""
            if key in used and key in by_key:
                raise repeated_id(str(key))
            used.add(key)
            change = _retagged(record, by_key.get(key, _Changes()), names, labels, rules, remove_rejected, by_uri)
            counts.update(change.added.values(), records=1, removed=len(change.removed))
            counts["changed"] += bool(change.added or change.removed)
            return change

        skip_bad = made_from is not None and made_from.skip_bad
        rewriter = Rewriter(RecordReader(str(source), chosen, replace(fields, group=""), skip_bad))
        for part in rewriter.written(stream, change_of):
            out.write(part)
        is_another = made_from is not None and stream.measure()[1] != made_from.sha256
        if ids is None and (is_another or counts["records"] != len(dataset)):
            raise InputError(
                source,
                f"is not the file that {shown(data)} was made from, and without ids, decisions might reach other "
                f"records: give that file; or make new data of this one with mpu vectorize --like {shown(data)}, and "
                "decide again",
            )
    by_reason = {reason: counts[reason] for reason in get_args(Reason)}
    absent = len(by_key.keys() - used)  # instances with accepted or rejected labels, but no record with their id
    report = {name: counts[name] for name in ("records", "changed")} | {"added": sum(by_reason.values())}
    report |= by_reason | {"removed": counts["removed"], "absent": absent}
    if suggestions is not None and not counts["suggested"]:
        warn(f"no suggestion was added: all are below {min_probability}, decided, or already tags")
    if absent:
        warn(
            f"{counted(absent, 'instance')} with decisions {'is' if absent == 1 else 'are'} not in {shown(source)}, by "
            "the ids"
        )
    output_report(report, _print_summary)


def _print_summary(report: dict[str, int]) -> None:
    parts = ", ".join(f"{report[reason]:,} {reason}" for reason in get_args(Reason) if report[reason])
    info(
        f"{counted(report['records'], 'record')}, {report['changed']:,} of them changed: "
        f"{counted(report['added'], 'tag')} added{parts and f' ({parts})'}, {report['removed']:,} removed",
        **report,
    )
