"""Reviews in Label Studio: tasks for it, and its export read back.

A task offers the annotated and the suggested labels of an instance as choices. Its pre-annotation selects those that
are annotated, or suggested with a probability of a half or more. In an annotation, selected labels are true and the
other choices are false; further labels may be named, and the label set declared complete. `CONFIG` shows such tasks.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mpu_cli.errors import InputError
from mpu_cli.names import LabelNames
from mpu_cli.names.label_names import is_number, label_of, quoted
from mpu_cli.review.tables import (
    ADDED,
    NO,
    NOTHING_ELSE,
    YES,
    checked_checksum,
    instance_number,
    is_sample_word,
    label_number,
    probability,
)
from mpu_cli.review.worklist import Item, Worklist
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.svmlight.streams import open_input

COMPLETE = "Nothing else is true"
CONFIG = f"""<View>
  <Text name="text" value="$text"/>
  <Choices name="labels" toName="text" choice="multiple" value="$options"/>
  <TextArea name="others" toName="text" placeholder="Another label, by name or number"/>
  <Choices name="complete" toName="text" choice="multiple"><Choice value="{COMPLETE}"/></Choices>
</View>
"""
T = TypeVar("T")
_MODEL = "mpu"
_LIKELY = 0.5


class _ForeignTaskError(Exception):
    """The data of a task do not come from `tasks`; the message says why."""


class Row(NamedTuple):
    """A decision, with the words and numbers of `decisions.Lines`."""

    instance: int  # from 0
    label: int
    verdict: str
    source: str
    probability: float  # NaN: nothing was claimed


@dataclass(frozen=True)
class Export:
    """The decisions of an export."""

    # `file`, `checksum`: name and checksum of the data, from the tasks; None without tasks
    file: str | None
    checksum: str | None
    rows: list["Row"]
    ids: dict[int, str]  # the ids of instances that have one
    names: LabelNames | None  # the options of the tasks, and other names where there are some; None without any name
    # `tasks`, `open_tasks`: number of tasks, and of tasks without annotation
    tasks: int
    open_tasks: int


def tasks(work: Worklist) -> bytes:
    """Return tasks in Label Studio's JSON format, with pre-annotations."""
    unique = dict(zip(work.labels.numbers, work.labels.written, strict=True))
    return (
        json.dumps([_task(work, item, unique) for item in work.items], ensure_ascii=False, indent=1, allow_nan=False)
        + "\n"
    ).encode(errors="replace")


def _task(work: Worklist, item: Item, names: dict[int, str]) -> dict[str, Any]:
    options = [{"value": names[label], "hint": "annotated"} for label in item.annotated]
    options += [
        {
            "value": names[one.label],
            "hint": "suggested" + ("" if one.shown is None else f", {one.shown:.2f}"),
        }
        for one in item.suggested
    ]
    chosen = [names[label] for label in item.annotated]
    chosen += [names[one.label] for one in item.suggested if (one.shown or 0) >= _LIKELY]
    text = item.text if item.text is not None else "\n".join(f"{name}: {value:g}" for name, value in item.features)
    prediction: dict[str, Any] = {
        "model_version": _MODEL,
        "result": [{"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": chosen}}],
    }
    if shown := [one.shown for one in item.suggested if one.shown is not None]:
        prediction["score"] = max(shown)
    return {
        "data": {
            "text": text,
            "options": options,
            # `labels`, `probabilities`: of the options
            "labels": item.annotated + [one.label for one in item.suggested],
            "probabilities": [None] * len(item.annotated) + [one.probability for one in item.suggested],
            "instance": item.instance + 1,
            **({} if item.id is None else {"id": item.id}),
            "file": work.file,
            "checksum": work.checksum,
            "source": work.source,
        },
        "predictions": [prediction],
    }


def read_export(source: str | Path, names: LabelNames | None = None) -> Export:
    """Read an export of Label Studio, in its format "JSON", of tasks that `tasks` made.

    An annotation that is marked as ground truth outweighs the others of its task; cancelled ones are skipped.

    `names`: names by which annotators may have added labels.
    Raises InputError (it is not such an export, two annotations of a task contradict each other, or a label does not
    exist).
    """
    with open_input(source) as stream:
        try:
            export = json_value(stream.read())
        except ValueError as error:
            raise InputError(str(source), None, f"{error}; export the project in the format JSON") from None
    if not isinstance(export, list):
        raise InputError(str(source), None, "this is not a list of tasks; export the project in the format JSON")
    rows: list[Row] = []
    decided: dict[tuple[int, int], str] = {}
    about: set[tuple[str, str]] = set()
    ids: dict[int, str] = {}
    options: dict[int, str] = {}
    open_tasks = 0
    for i, task in enumerate(export, 1):
        try:
            data = _data(task["data"])
            about.add((data.file, data.checksum))
            options |= {label: text for text, label in data.options.items() if not is_number(text)}
            if data.id is not None:
                ids[data.instance] = data.id
            annotations = _that_count(task["annotations"])
            for row in _rows(data, annotations, names):
                if decided.setdefault((row.instance, row.label), row.verdict) != row.verdict:
                    raise ValueError(
                        f"it contradicts another task of instance {row.instance + 1} about label {row.label}; settle "
                        "it there"
                    )
                rows.append(row)
            open_tasks += not annotations
        except ValueError as error:
            raise InputError(str(source), None, f"task {i}: {error}") from None
        except (KeyError, TypeError, AttributeError, _ForeignTaskError) as error:
            raise InputError(
                str(source),
                None,
                f"task {i} is not one that mpu review has made and Label Studio has exported in its format JSON"
                + (f": {error}" if isinstance(error, _ForeignTaskError) else ""),
            ) from None
    if len(about) > 1:
        raise InputError(str(source), None, "these are tasks of several files; export them one by one")
    file, checksum = about.pop() if about else (None, None)
    named = names or (LabelNames.of({label: (text,) for label, text in options.items()}) if options else None)
    return Export(file, checksum, rows, ids, named, len(export), open_tasks)


def _of_kind(kind: type[T], value: object) -> T:
    """Return a value of exactly this type: bool is no int."""
    if type(value) is not kind:
        raise TypeError
    return value


def _that_count(annotations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    finished = [one for one in annotations if not one.get("was_cancelled")]
    return [one for one in finished if one.get("ground_truth")] or finished


@dataclass(frozen=True)
class _Data:
    """The data of a task: instance from 0, and the label of each option."""

    file: str
    checksum: str
    instance: int
    source: str
    options: dict[str, int]
    claimed: dict[int, float]  # the probabilities of suggested labels
    id: str | None = None


def _data(data: dict[str, Any]) -> _Data:
    """Parse and check the data of a task, whose values are as in review files."""
    labels = [_of_kind(int, label) for label in data["labels"]]
    options = {_of_kind(str, option["value"]): label for option, label in zip(data["options"], labels, strict=False)}
    if not len(data["options"]) == len(options) == len(set(labels)) == len(labels):
        raise _ForeignTaskError("its options are not its labels")
    file, checksum, source = (_of_kind(str, data[name]) for name in ("file", "checksum", "source"))
    try:
        is_sample_word(source)
        for label in labels:
            label_number(str(label))
        instance = instance_number(str(_of_kind(int, data["instance"])))
        key = _of_kind(str, data["id"]) if "id" in data else None
        claims = zip(labels, data.get("probabilities", ()), strict=False)
        claimed = {label: probability(str(claim)) for label, claim in claims if claim is not None}
        return _Data(file, checked_checksum(checksum), instance, source, options, claimed, key)
    except ValueError as error:
        raise _ForeignTaskError(str(error)) from None


def _rows(data: _Data, annotations: list[dict[str, Any]], names: LabelNames | None) -> Iterator[Row]:
    """Yield the decisions of a task."""
    decided: dict[int, str] = {}
    for annotation in annotations:
        for label, verdict in _decisions(annotation, data.options, names):
            if decided.setdefault(label, verdict) != verdict:
                raise ValueError(
                    f"its annotations contradict each other about label {label}; settle it there, or mark one of them "
                    "as ground truth"
                )
    offered = {NOTHING_ELSE, *data.options.values()}
    for label, verdict in decided.items():
        source = data.source if label in offered else ADDED
        yield Row(data.instance, label, verdict, source, data.claimed.get(label, math.nan))


def _decisions(
    annotation: dict[str, Any], options: Mapping[str, int], names: LabelNames | None
) -> Iterator[tuple[int, str]]:
    """Yield labels with verdicts."""
    chosen: set[int] = set()
    for result in annotation["result"]:
        value = result["value"]
        match result["from_name"]:
            case "labels":
                chosen |= {_option(choice, options) for choice in value["choices"]}
            case "others":
                texts = value["text"] if isinstance(value["text"], list) else [value["text"]]
                lines = [line.strip() for text in texts for line in text.split("\n")]
                chosen |= {_named(line, options, names) for line in lines if line}
            case "complete" if value["choices"]:
                yield NOTHING_ELSE, NO
    yield from ((label, YES) for label in sorted(chosen))
    yield from ((label, NO) for label in options.values() if label not in chosen)


def _option(choice: str, options: Mapping[str, int]) -> int:
    if choice not in options:
        raise ValueError(f"the choice {quoted(_of_kind(str, choice))} is none of its options")
    return options[choice]


def _named(text: str, options: Mapping[str, int], names: LabelNames | None) -> int:
    if text in options:
        return options[text]
    if names is None and not is_number(text):
        raise ValueError(
            f"there is no label called {quoted(text)} among its options; names of others are given by --labels"
        )
    return label_of(text, names)
