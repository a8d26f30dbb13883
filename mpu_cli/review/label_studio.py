"""Reviews in Label Studio: tasks for it, and its export read back.

A task offers the annotated and the suggested labels of an instance as choices. Its pre-annotation has those chosen that
are annotated, or suggested with a probability of a half or more. In an annotation, what is chosen is true and what is
not is false; other labels may be named, and the label set be declared complete. `CONFIG` shows such tasks.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError
from mpu_cli.names import LabelNames
from mpu_cli.names.label_names import is_number
from mpu_cli.review.values import NO, NOTHING_ELSE, SAMPLE, SUGGESTION, YES
from mpu_cli.review.worklist import Item, Worklist
from mpu_cli.svmlight.streams import open_input

COMPLETE = "Nothing else is true"
CONFIG = f"""<View>
  <Text name="text" value="$text"/>
  <Choices name="labels" toName="text" choice="multiple" value="$options"/>
  <TextArea name="others" toName="text" placeholder="Another label, by name or number"/>
  <Choices name="complete" toName="text" choice="multiple"><Choice value="{COMPLETE}"/></Choices>
</View>
"""
_MODEL = "mpu"
_LIKELY = 0.5


@dataclass(frozen=True)
class Export:
    """What an export decides.

    Attributes
    ----------
    file, checksum : str or None
        Of the data, as the tasks have them; None where there is no task.
    rows : list of (int, int, str, str)
        Instance from 0, label, verdict and source of each decision, as `decisions.write` takes them.
    tasks, open_tasks : int
        How many tasks there are, and how many of them without annotation.
    """

    file: str | None
    checksum: str | None
    rows: list[tuple[int, int, str, str]]
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
        {"value": names[label], "hint": "suggested" + ("" if p is None else f", {p:.2f}")}
        for label, p in item.suggested
    ]
    chosen = [names[label] for label in item.annotated]
    chosen += [names[label] for label, p in item.suggested if p is not None and p >= _LIKELY]
    text = item.text if item.text is not None else "\n".join(f"{name}: {value:g}" for name, value in item.features)
    prediction: dict[str, Any] = {
        "model_version": _MODEL,
        "result": [{"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": chosen}}],
    }
    if probabilities := [p for _, p in item.suggested if p is not None]:
        prediction["score"] = max(probabilities)
    return {
        "data": {
            "text": text,
            "options": options,
            "labels": item.annotated + [label for label, _ in item.suggested],  # of the options
            "instance": item.instance + 1,
            "file": work.file,
            "checksum": work.checksum,
            "source": work.source,
        },
        "predictions": [prediction],
    }


def read_export(source: str | Path, names: LabelNames | None = None) -> Export:
    """Read an export of Label Studio, in its format "JSON", of tasks that `tasks` made.

    An annotation that is marked as ground truth outweighs the others of its task; cancelled ones are passed over.

    Parameters
    ----------
    source : str or Path
    names : LabelNames, optional
        By which annotators may have named labels in addition.

    Raises
    ------
    InputError
        It is no such export, two annotations of a task contradict each other, or a label is not known.
    """
    with open_input(source) as stream:
        try:
            export = json.loads(stream.read())
        except (ValueError, RecursionError):
            raise InputError(str(source), None, "this is not JSON; export the project in the format JSON") from None
    if not isinstance(export, list):
        raise InputError(str(source), None, "this is not a list of tasks; export the project in the format JSON")
    rows: list[tuple[int, int, str, str]] = []
    about: set[tuple[str, str]] = set()
    open_tasks = 0
    for i, task in enumerate(export, 1):
        try:
            about.add((_text(task["data"]["file"]), _text(task["data"]["checksum"])))
            annotations = _that_count(task["annotations"])
            rows += _rows(task["data"], annotations, names)
            open_tasks += not annotations
        except ValueError as error:
            raise InputError(str(source), None, f"task {i}: {error}") from None
        except (KeyError, TypeError, AttributeError):
            raise InputError(
                str(source),
                None,
                f"task {i} is not one that mpu review has made and Label Studio has exported in its format JSON",
            ) from None
    if len(about) > 1:
        raise InputError(str(source), None, "these are tasks of several files; export them one by one")
    file, checksum = about.pop() if about else (None, None)
    return Export(file, checksum, rows, len(export), open_tasks)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _that_count(annotations: list[dict]) -> list[dict]:
    finished = [one for one in annotations if not one.get("was_cancelled")]
    return [one for one in finished if one.get("ground_truth")] or finished


def _rows(data: dict, annotations: list[dict], names: LabelNames | None) -> Iterator[tuple[int, int, str, str]]:
    """Yield the decisions of a task."""
    number, kind = data["instance"], data["source"]
    if not isinstance(number, int) or number < 1 or kind not in (SAMPLE, SUGGESTION, ""):
        raise KeyError
    decided: dict[int, str] = {}
    for annotation in annotations:
        for label, verdict in _decisions(annotation, data, names):
            if decided.setdefault(label, verdict) != verdict:
                raise ValueError(
                    f"its annotations contradict each other about label {label}; settle it there, or mark one of them "
                    "as ground truth"
                )
    yield from ((number - 1, label, verdict, kind) for label, verdict in decided.items())


def _decisions(annotation: dict, data: dict, names: LabelNames | None) -> Iterator[tuple[int, str]]:
    """Yield labels with verdicts."""
    options = {option["value"]: int(label) for option, label in zip(data["options"], data["labels"], strict=True)}
    chosen: set[int] = set()
    for result in annotation["result"]:
        value = result["value"]
        match result["from_name"]:
            case "labels":
                chosen |= {_option(choice, options) for choice in value["choices"]}
            case "others":
                texts = value["text"] if isinstance(value["text"], list) else [value["text"]]
                chosen |= {_named(line.strip(), options, names) for text in texts for line in text.split("\n") if line}
            case "complete":
                yield NOTHING_ELSE, NO
    yield from ((label, YES) for label in sorted(chosen))
    yield from ((label, NO) for label in options.values() if label not in chosen)


def _option(choice: str, options: Mapping[str, int]) -> int:
    if choice not in options:
        raise ValueError(f"the choice {choice!r} is none of its options")
    return options[choice]


def _named(text: str, options: Mapping[str, int], names: LabelNames | None) -> int:
    if text in options:
        return options[text]
    if names is not None:
        return names.number(text)
    if is_number(text):
        return int(text)
    raise ValueError(f"there is no label called {text!r} among its options; names of others are given by --labels")
