"""Inputs of ``fuzz.exports``: changes to an export of Label Studio, or its bytes."""

import copy
import json
from pathlib import Path
from typing import Any

from mpu_cli.commands.review import import_label_studio
from mpu_cli.errors import MpuError
from mpu_cli.names import Naming
from mpu_cli.review import decisions
from tests.bundle.corpus import Choices

_NAMES = "sports\nmusic\nthe arts\n*\n7\nsports\n"


def _result(name: str, **value: Any) -> dict:
    return {"id": "x", "from_name": name, "to_name": "text", "value": value}


def _task(instance: int, *annotations: dict) -> dict:
    data = {"text": "", "options": [{"value": "sports (1)"}, {"value": "the arts"}], "labels": [1, 3]}
    about = {"instance": instance, "file": "news.svm", "checksum": "0" * 64, "source": "suggestion"}
    return {"id": 7, "data": data | about, "annotations": list(annotations), "predictions": []}


_EXPORT = [
    _task(4, {"was_cancelled": False, "ground_truth": False, "result": [_result("labels", choices=["the arts"])]}),
    _task(
        2,
        {"result": [_result("others", text=["music", "5"]), _result("complete", choices=["Nothing else is true"])]},
        {"ground_truth": True, "result": [_result("others", text="the arts"), _result("complete", choices=["x"])]},
    ),
    _task(1),
]
_VALUES = (
    *(None, True, False, 0, 1, 2, -1, -5, 3.7, 1e308, float("nan"), float("inf"), 2**31 - 2, 2**31 - 1, 2**63, 10**30),
    *(
        10**12,
        10**12 + 1,
        10**4000,
        "",
        "7",
        "*",
        "sports",
        "sports (1)",
        "yes\n9\t9\tyes",
        "\t",
        "\r\u2028\x1b",
        "\ud800",
    ),
    *("0" * 64, "A" * 64, "0" * 64 + "\n1\t7\tyes\tsample", "sample", "SAMPLE", "constructor", "x" * 1000),
    *(
        [],
        {},
        [[]],
        [1, 3],
        [3, 1],
        ["the arts"],
        [{"value": "a"}, {"value": "b"}],
        {"choices": []},
        {"text": "music\n7"},
    ),
    *("labels", "others", "complete"),
)


def replay(data: bytes, folder: Path) -> None:
    """Import an export: it is refused, and nothing is written; or what is written are its decisions; they read back."""
    choices = Choices(data)
    naming = Naming(folder / "tags") if choices.below(2) else Naming()
    if choices.below(8):
        export: Any = copy.deepcopy(_EXPORT)
        while choices:
            export = _changed(export, choices)
        content = json.dumps(export).encode()
    else:
        content = data[4:]
    (folder / "tags").write_text(_NAMES)
    (folder / "export.json").write_bytes(content)
    target = folder / "checked.tsv"
    target.unlink(missing_ok=True)
    try:
        report = import_label_studio(folder / "export.json", target, naming=naming)
    except MpuError as error:
        assert str(error).encode(errors="backslashreplace") and len(str(error)) < 6000
        assert not target.exists()
        return
    lines = target.read_bytes().splitlines()  # by any line end
    assert len(lines) == report.decisions + 1 + 2 * (report.tasks > 0)
    found = decisions.read([target])
    assert len(found) <= report.decisions and found.undecided == 0
    assert (found.checksums == (None,)) == (report.tasks == 0)


def _changed(value: Any, choices: Choices) -> Any:
    """Return a value in which something, deeper or less deep, is another value, is gone, or is there twice."""
    if not isinstance(value, dict | list) or not value or not choices.below(6):
        return copy.deepcopy(choices.one_of(_VALUES)) if choices.below(6) else choices.piece().decode("latin-1")
    key = choices.one_of(sorted(value)) if isinstance(value, dict) else choices.below(len(value))
    kind = choices.below(12)
    if kind == 0:
        del value[key]
    elif kind == 1 and isinstance(value, list):
        value.insert(choices.below(len(value) + 1), copy.deepcopy(value[key]))
    else:
        value[key] = _changed(value[key], choices)
    return value
