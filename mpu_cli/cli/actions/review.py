"""Create a page for reviewing labels: ``mpu review``."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from mpu_cli.cli.messages import info, warn
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.errors import InputError, counted, shown
from mpu_cli.names.label_names import RecordIds
from mpu_cli.names.lines import text_lines
from mpu_cli.names.naming import Naming, Suggestible, find_broader, read_implications, read_names
from mpu_cli.review import decisions
from mpu_cli.review.matching import match, suggestions_of
from mpu_cli.review.page import Review, choose, draw, page
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import Measured, bytes_of, open_output
from mpu_cli.text.fields import value_of
from mpu_cli.text.records import Fields, RecordReader, format_of, open_records
from mpu_cli.text.stored import Records, Sidecars, origin_of

# The id of a record, or None, and its texts.
_Keyed = Iterator[tuple[str | None, tuple[str, ...]]]


def texts_of(
    text: str | None,
    text_fields: tuple[str, ...],
    sidecars: Sidecars,
    ids: RecordIds | None,
    wanted: set[int],
    n: int,
    remedy: str = "",
) -> dict[int, tuple[str, ...]] | None:
    """Read the texts of some of n instances, numbered from 0; None if there are no texts.

    `remedy`: what to do if the texts cannot be read, for the warning.
    """
    place, form = sidecars.records(), None if text is None else format_of(text)
    if text is not None and form is None:
        if text_fields:
            problem = f"has no field {text_fields[0]!r}: fields are for .jsonl, .ndjson, .csv and .tsv, by their names"
            raise InputError(text, problem)
        return _of_instances(((None, (line,)) for line in text_lines(text)), text, ids, wanted, n)
    if text is not None and form is not None:
        place = replace(place or Records("", "", False, None, Fields((), id="")), file=text, form=form, sha256=None)
    if place is None:
        return None
    if text_fields:
        place = replace(place, fields=replace(place.fields, text=text_fields))
    try:
        texts = _of_instances(_of_records(place), place.file, ids, wanted, n)
    except InputError as error:
        if text is not None:
            raise
        warn(f"no texts are shown: {error}{remedy}")
        return None
    if text is None:
        info(f"texts: {shown(place.file)}, {', '.join(place.fields.text)}")
    return texts


def _of_instances(
    texts: _Keyed, source: str, ids: RecordIds | None, wanted: set[int], n: int
) -> dict[int, tuple[str, ...]]:
    """Choose the texts of some of n instances: by ids or, without them, by order."""
    kept: dict[int, tuple[str, ...]] = {}
    times: Counter[str] = Counter()  # several records may have the same id
    count, by_id = 0, False
    for key, own in texts:
        instance: int | None = count
        if ids is not None and key is not None:
            by_id = True
            same = ids.instances.get(key, [])
            instance = same[times[key]] if times[key] < len(same) else None
            times[key] += 1
        elif count == n:
            raise InputError(source, f"has more texts than the data have instances, {n}; each needs one text")
        if instance in wanted:
            kept[instance] = own
        count += 1
    if count < n and not by_id:
        raise InputError(source, f"has {count} texts, but the data have {n} instances; each needs one text")
    if absent := len(wanted) - len(kept):
        warn(f"{shown(source)} has no text of {counted(absent, 'instance')}, by the ids: shown by features")
    return kept


def _of_records(place: Records) -> _Keyed:
    fields = replace(place.fields, tags=(), group="")  # these are not used
    if place.sha256 is not None and not (Path(place.file).is_file() or Path(place.file).is_dir()):
        raise InputError(place.file, "there is no such file or directory")
    with open_records(place.file) as raw:
        stream = Measured(raw)
        for record in RecordReader(place.file, place.form, fields, place.skip_bad).records(stream):
            of = record.row.fields
            yield record.id, tuple(str(value_of(of, name) or "") for name in fields.text or of)
        # A manifest from elsewhere may name any file of this account.
        if place.sha256 not in (None, stream.measure()[1]):
            raise InputError(place.file, "is not the file that the data were made from")


def command(
    source: str,
    output: str,
    sample: int | None,
    suggestions: str | None,
    reviewed: tuple[str, ...],
    text: str | None,
    text_field: tuple[str, ...],
    link: str | None,
    naming: Naming,
    suggestible: Suggestible,
    features: str | None,
    run: Run,
    reading: Reading,
) -> None:
    inputs: dict[str, Any] = {"FILE": source, "--suggestions": suggestions, "--text": text, "--features": features}
    inputs |= suggestible.by_option() | {"--reviewed": reviewed, "--labels": naming.file}
    if text_field and text is None and origin_of(source)[0] is None:
        raise click.UsageError("--text-field needs --text, where FILE was not made by mpu vectorize.")
    if link is not None and not (link.startswith(("https://", "http://")) and "{id}" in link):
        raise click.UsageError("--link begins with https:// or http://, and has {id} in it.")
    refuse_overlaps(inputs, {"--output": output})
    with run.step("reading data", bytes_of(source)):
        sidecars = Sidecars(source)
        data = read(source, reading, run, measures=sidecars.measures)
    drawn = None if sample is None else draw(len(data), sample, run.seed)
    occurring = data.occurring_labels()[1]
    names = sidecars.names_of(naming, occurring)
    ids = sidecars.ids(len(data))
    if link is not None and ids is None:
        raise InputError(source, "its records have no ids for --link")
    suggested = None
    if suggestions is not None:
        suggested = suggestions_of(decisions.read_lines(suggestions, names, ids), data, source)
        known = np.unique([*suggested.label.tolist(), *occurring.tolist(), *names.by_number])
        if (allowed := suggestible.of(known, names, source)) is not None:
            suggested = suggested[np.isin(suggested.label, known[allowed])]
    wanted = choose(len(data), drawn, suggested)
    if not wanted:
        raise InputError(suggestions, "nothing is left to review: everything is decided or annotated")
    decided = None
    if reviewed:
        decided = decisions.read(reviewed, names, ids, data.labels)
        match(decided, data, source)  # refuses those of other data
    work = Review(
        data=data,
        source=source,
        instances=wanted,
        is_sample=drawn is not None,
        suggestions=suggested,
        ids=ids,
        texts=texts_of(text, text_field, sidecars, ids, set(wanted), len(data), "; name them by --text"),
        link=link,
        broader={} if (broader := find_broader(source)) is None else read_implications(broader, names).next_broader(),
        decided=decided,
        label_names=names,
        feature_names=None if features is None else read_names(features)[0],
    )
    with open_output(output) as out:
        out.write(page(work))
    instances, labels = len(wanted), len(work.labels)
    n_suggested = sum(len(work.suggested[instance]) for instance in wanted)
    left_out = (0 if suggested is None else len(suggested)) - n_suggested
    without = f" ({left_out:,} of instances that were not drawn left out)" * (left_out > 0)
    info(
        f"{counted(instances, 'instance')} to review, with {counted(n_suggested, 'suggested label')}{without}; "
        f"{counted(labels, 'label')} to choose from",
        instances=instances,
        suggestions=n_suggested,
        labels=labels,
    )
