"""The review page: one HTML file that needs no other file and no network.

Texts and names are untrusted. On the page they are data, never markup: JSON in which no ``<`` can end its element,
shown as text by scripts. The page's Content-Security-Policy allows only these scripts and styles, by their checksums,
and no requests.
"""

import hashlib
import io
import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import filterfalse
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from scipy.sparse import csr_array

from mpu_cli.errors import MpuError, shown
from mpu_cli.names.label_names import NAMELESS, LabelNames, Names, RecordIds, is_uri
from mpu_cli.names.lines import cell
from mpu_cli.review.decisions import NOTHING_ELSE, SAMPLE, SUGGESTION, Decisions, checksum
from mpu_cli.runtime.options import MOST_INSTANCES
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.text.analyzer import function_words, language_of

_MOST_ON_A_PAGE = 100_000  # instances
_HEAVIEST = 30


@dataclass(frozen=True, kw_only=True)
class Review:
    """The cells to be reviewed, and the information shown about them."""

    data: Dataset
    source: str | Path  # the file of the data, as the user named it
    instances: list[int]  # in the order of reviewing
    is_sample: bool = False  # whether the instances were drawn at random
    suggestions: Decisions | None = None  # from `matching.suggestions_of`, also shown for a sample
    ids: RecordIds | None = None
    # The values of the fields with the text of an instance; with several fields, the first is the title. An instance
    # without a text is shown by its features
    texts: Mapping[int, tuple[str, ...]] | None = None
    link: str | None = None  # the address of a record, with ``{id}`` in place of its id
    broader: Mapping[int, Sequence[int]] = field(default_factory=dict)  # the next broader labels of some labels
    decided: Decisions | None = None  # earlier decisions: the page opens with them
    label_names: LabelNames = NAMELESS
    feature_names: Names | None = None  # From `names.naming.read_names`. Features without a name are shown by number

    @cached_property
    def suggested(self) -> dict[int, list[tuple[Any, ...]]]:
        """The suggestions for each instance: label, probability, chance of a question, evidence; None if unknown."""
        found: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        if (of := self.suggestions) is not None:
            shares = (
                np.where(np.isnan(share), np.array(None), share).tolist() for share in (of.probability, of.chance)
            )
            for instance, *one in zip(of.instance.tolist(), of.label.tolist(), *shares, of.why.tolist(), strict=True):
                found[instance].append(tuple(one))
        return found

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each label number is annotated."""
        return np.bincount(self.data.labels.indices)

    @cached_property
    def labels(self) -> list[int]:
        """All labels that a person can choose from, ascending."""
        suggested = [label for instance in self.instances for label, *_ in self.suggested[instance]]
        decided = [] if self.decided is None else self.decided.label[self.decided.label != NOTHING_ELSE]
        others = (np.asarray(those, np.int64) for those in (suggested, list(self.label_names.by_number), decided))
        return np.unique(np.concatenate([np.flatnonzero(self.counts), *others])).tolist()


def draw(n: int, size: int, seed: int) -> list[int]:
    """Draw instances at random. With the same seed, a larger sample begins with the smaller one.

    >>> draw(10, 5, seed=0)[:3] == draw(10, 3, seed=0)
    True
    """
    if size > n:
        raise MpuError(f"{size} instances cannot be drawn from {n}; give a smaller sample")
    return np.random.default_rng(seed).permutation(n)[:size].tolist()


def choose(n: int, sample: list[int] | None, suggestions: Decisions | None) -> list[int]:
    """Return the instances to review, in order: the sample, or else those with suggestions, or else all."""
    suggested = None if suggestions is None else list(dict.fromkeys(suggestions.instance.tolist()))
    order = sample if sample is not None else suggested if suggested is not None else list(range(n))
    if len(order) > _MOST_ON_A_PAGE:
        raise MpuError(
            f"{len(order):,} instances are too many to review at once (at most {_MOST_ON_A_PAGE:,}): draw a sample, or "
            "give fewer suggestions"
        )
    return order


def page(review: Review) -> bytes:
    """Return the page for reviewing.

    The browser stores its progress under the checksums of the data and of the listed cells.
    """
    # Without ``<``, it contains no end tag and no comment.
    data = json.dumps(_data(review), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return rendered("page.html", data=data.replace("<", "\\u003c")) + b"\n"


def rendered(template: str, **values: Any) -> bytes:
    """Return the page from a template of this package; values are escaped unless it marks them as safe."""
    loader = PackageLoader(__package__, "assets")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals |= {"asset": lambda name: loader.get_source(environment, name)[0], "digest": _digest}
    return environment.get_template(template).render(values).encode(errors="replace")


def _digest(text: str) -> str:
    """Return the checksum of a script or a style, in the format of a Content-Security-Policy."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(review: Review) -> dict[str, Any]:
    names, numbers, counts, own = review.label_names, review.labels, review.counts, checksum(review.data.features)
    place = {number: i for i, number in enumerate(numbers)}
    items = [_item(review, instance, place) for instance in review.instances]
    out = io.BytesIO()
    if review.decided is not None:
        review.decided.write(out, review.ids)
    decided = out.getvalue().decode()  # a review file, which the page imports when it opens
    listed = [[item["n"], item["s"]] for item in items]
    chosen = hashlib.sha256(json.dumps([*listed, *filter(None, [decided])]).encode()).hexdigest()
    source = SAMPLE if review.is_sample else SUGGESTION if review.suggestions is not None else ""
    uris = [names.uri(number) for number in numbers]
    # By place: cells in review files that differ from the name, names to search for, and next broader labels
    written = {i: text for number, i in place.items() if (text := cell(names.written(number))) != names.name(number)}
    words = {i: [*filterfalse(is_uri, names.by_number.get(number, ())[1:])] for number, i in place.items()}
    broader = {i: [place[k] for k in review.broader.get(number, ()) if k in place] for number, i in place.items()}
    return {
        "file": Path(shown(review.source)).name,
        "checksum": own,
        "key": f"mpu-review/{own[:16]}/{source or 'all'}-{chosen[:16]}",
        "source": source,
        "named": bool(names),
        "numbers": numbers,
        "names": list(map(names.name, numbers)) if names else [],
        "written": written,
        "further": {i: others for i, others in words.items() if others},
        "broader": {i: above for i, above in broader.items() if above},
        "uris": uris if any(uris) else [],
        "link": review.link,
        "counts": [int(counts[number]) if number < len(counts) else 0 for number in numbers],
        "most": {"label": MAX_ID, "instance": MOST_INSTANCES},
        "items": items,
        "decided": decided,
    }


def _item(review: Review, instance: int, place: dict[int, int]) -> dict[str, Any]:
    """Return an instance, with short keys.

    n number, i id, a annotated, h title, t text, f features,
    s suggested: label, probability, and for a question the probability of drawing it, w evidence for these by place
    """
    suggested, texts, labels = review.suggested[instance], (review.texts or {}).get(instance), review.data.labels
    shown: dict[str, Any] = {
        "n": instance + 1,
        "a": [place[label] for label in labels.indices[_entries(labels, instance)].tolist()],
        "s": [[place[label], probability, *filter(None, [drawn])] for label, probability, drawn, _ in suggested],
    }
    often = function_words(language_of("\n\n".join(filter(None, texts or ()))))  # these are uninformative to people
    reasons = {label: why.split("; ") for label, _, drawn, why in suggested if drawn is None}
    telling = {label: [words for words in why if not often.issuperset(words.split())] for label, why in reasons.items()}
    if why := {place[label]: features for label, features in telling.items() if features}:
        shown["w"] = why
    if review.ids is not None:
        shown["i"] = review.ids.texts[instance]
    if texts is None:
        return shown | {"f": _heaviest(review.data, instance, review.feature_names)}
    title, *others = texts if len(texts) > 1 else ("", *texts)
    return shown | ({"h": title} if title else {}) | {"t": "\n\n".join(filter(None, others))}


def _entries(matrix: csr_array, row: int) -> slice:
    return slice(matrix.indptr[row], matrix.indptr[row + 1])


def _heaviest(data: Dataset, instance: int, names: Names | None) -> tuple[tuple[str, float], ...]:
    part = _entries(data.features, instance)
    indices, values = data.features.indices[part], data.features.data[part]
    order = np.argsort(-np.abs(values), kind="stable")[:_HEAVIEST]
    shown = ((names or {}).get(number, ())[:1] or (str(number),) for number in indices[order].tolist())
    return tuple((name, float(f"{value:.4g}")) for (name,), value in zip(shown, values[order], strict=True))
