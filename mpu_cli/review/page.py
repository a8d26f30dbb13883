"""The review page: one HTML file that needs no other file and no network.

Texts and names are not trusted. They are data on the page, never markup: JSON in which no ``<`` can end its element,
shown by scripts as text. The Content-Security-Policy of the page allows only these scripts and styles, by their
checksums, and no requests.
"""

import hashlib
import io
import json
from base64 import b64encode
from importlib.resources import files
from os.path import commonprefix
from pathlib import Path
from typing import Any

from mpu_cli.errors import shown
from mpu_cli.names import RecordIds
from mpu_cli.names.lines import cell
from mpu_cli.review.decisions import Decisions, write
from mpu_cli.review.worklist import Item, Labels, Suggested, Worklist
from mpu_cli.runtime.options import MOST_INSTANCES
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.text.languages import function_words, language_of

_SCRIPTS = ("reviews.js", "search.js", "page.js")


def page(work: Worklist) -> bytes:
    """Return the page for reviewing.

    The browser stores its progress, by the checksums of the data and of the worklist.
    """
    style = asset("page.css")
    scripts = [asset(name) for name in _SCRIPTS]
    allowed = " ".join(f"'{digest(script)}'" for script in scripts)
    policy = [
        "default-src 'none'",
        f"style-src '{digest(style)}'",
        f"script-src {allowed}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    text = asset("page.html")
    for mark, content in (
        ("{{policy}}", "; ".join(policy)),
        ("{{style}}", style),
        ("{{scripts}}", "</script>\n<script>".join(scripts)),
        ("{{data}}", _json(_data(work))),  # last, since it may contain any text
    ):
        text = text.replace(mark, content, 1)
    return text.encode(errors="replace")


def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Return the checksum of a script or a style, as a Content-Security-Policy has it."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(data: dict[str, Any]) -> str:
    """Return JSON for a ``script`` element: without ``<``, it contains no end tag and no comment."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _data(work: Worklist) -> dict[str, Any]:
    place = {number: i for i, number in enumerate(work.labels.numbers)}
    items = [_item(item, place) for item in work.items]
    decided = {} if work.decided is None else {"decided": _decided(work.decided, work.ids)}
    listed = [[item["n"], item["s"]] for item in items]
    chosen = hashlib.sha256(json.dumps([*listed, *decided.values()]).encode()).hexdigest()
    return {
        "file": Path(shown(work.file)).name,
        "checksum": work.checksum,
        "key": f"mpu-review/{work.checksum[:16]}/{work.source or 'all'}-{chosen[:16]}",
        "source": work.source,
        "named": work.labels.named,
        "numbers": work.labels.numbers,
        "names": work.labels.names if work.labels.named else [],
        "written": _cells(work.labels),
        "further": {i: further for i, further in enumerate(work.labels.further) if further},
        **({"broader": work.labels.broader} if work.labels.broader else {}),
        **({"uris": _uris(work.labels)} if work.labels.uris else {}),
        **({} if work.link is None else {"link": work.link}),
        "counts": work.labels.counts,
        "most": {"label": MAX_ID, "instance": MOST_INSTANCES},
        "items": items,
        **decided,
    }


def _decided(decided: Decisions, ids: RecordIds | None) -> str:
    """Return decisions as a review file, which the page imports when it opens."""
    out = io.BytesIO()
    write(out, decided.lines(), ids=ids)
    return out.getvalue().decode()


def _cells(labels: Labels) -> dict[int, str]:
    """Return, by their places, the cells of labels in review files that are not just their names."""
    cells = [cell(text) for text in labels.written] if labels.named else []
    return {i: text for i, text in enumerate(cells) if text != labels.names[i]}


def _uris(labels: Labels) -> dict[str, Any]:
    """Return the beginning that all URIs share, up to a slash or a hash, and the rest of each, null without a URI."""
    shared = commonprefix(list(labels.uris.values()))  # noqa: RUF071  # character by character, until the next line
    shared = shared[: max(shared.rfind("/"), shared.rfind("#")) + 1]
    uris = (labels.uris.get(i) for i in range(len(labels.numbers)))
    return {"shared": shared, "rest": [uri and uri[len(shared) :] for uri in uris]}


def _suggested(one: Suggested, place: dict[int, int]) -> list[Any]:
    """Return a label, its probability, and of a question the one with which it was drawn."""
    return [place[one.label], one.probability, *([] if one.drawn is None else [one.drawn])]


def _item(item: Item, place: dict[int, int]) -> dict[str, Any]:
    """Return an instance by short names.

    n number, i id, a annotated, s suggested, w what speaks for these by their places, h title, t text, f features
    """
    shown: dict[str, Any] = {
        "n": item.instance + 1,
        "a": [place[label] for label in item.annotated],
        "s": [_suggested(one, place) for one in item.suggested],
    }
    often = function_words(language_of(item.text or ""))  # which say nothing to people
    telling = {one.label: [words for words in one.why if not often.issuperset(words.split())] for one in item.suggested}
    if why := {place[label]: features for label, features in telling.items() if features}:
        shown["w"] = why
    if item.id is not None:
        shown["i"] = item.id
    if item.texts is None:
        return shown | {"f": item.features}
    title, *others = item.texts if len(item.texts) > 1 else ("", *item.texts)
    return shown | ({"h": title} if title else {}) | {"t": "\n\n".join(filter(None, others))}
