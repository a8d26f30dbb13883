"""Fitted classifiers as bytes, by skops: what is not known to be harmless is neither written nor read."""

import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np

from mpu_cli.errors import MpuError
from mpu_cli.methods.scikit_learn.classifiers import learned

_INSTEAD = "compare it by `mpu experiment`, or use IncompleteLabelClassifier from Python"
# What skops does not trust, since made-up numbers in it would lead out of its memory: they are checked here.
_TREE = "sklearn.tree._tree.Tree"
# Instances, features and labels that a classifier learns to show whether it can be saved.
_N, _D, _Q = 200, 4, 2


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MpuError("models of scikit-learn are saved by skops: pip install 'mpu-cli[skops]'") from None
    return skops.io


def refuse_unsaved(estimator: Any) -> None:
    """Raise MpuError unless such a classifier can be saved: a copy learns a few made-up instances."""
    _skops()
    rng = np.random.default_rng(0)
    try:
        few = learned(estimator, rng.random((_N, _D)), (rng.random((_N, _Q)) < 0.5).astype(np.float32))
    except Exception:  # whatever it raises where it needs other data
        few = [estimator]
    packed(few)


def packed(classifiers: list[Any]) -> bytes:
    """Return classifiers as bytes; MpuError where there is no skops, or they hold what is not trusted."""
    io = _skops()
    name = type(classifiers[0]).__name__
    try:
        content: bytes = io.dumps(classifiers)
    except Exception as error:  # whatever skops or a classifier raises
        raise MpuError(f"models of {name} cannot be saved: {error}; {_INSTEAD}") from error
    if types := _untrusted(io, content):
        raise MpuError(f"models of {name} cannot be saved, as skops does not trust {', '.join(types)}; {_INSTEAD}")
    return content


def unpacked(content: bytes) -> list[Any]:
    """Return classifiers; MpuError where there is no skops, ValueError where they are damaged or not trusted."""
    io = _skops()
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise ValueError("they are compressed")
        types = _untrusted(io, content)
        classifiers = [] if types else io.loads(content, trusted=[_TREE])
    except Exception as error:  # whatever damaged bytes lead to
        raise ValueError(f"its classifiers cannot be read: {error}") from error
    if types or not isinstance(classifiers, list) or not classifiers:
        raise ValueError(f"its classifiers hold what is not trusted: {', '.join(types) or 'no classifier'}")
    for tree in _trees(classifiers, set()):
        _check(tree)
    return classifiers


def _untrusted(io: Any, content: bytes) -> list[str]:
    return [name for name in io.get_untrusted_types(data=content) if name != _TREE]


def _trees(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the trees that a value holds, each once."""
    from sklearn.tree._tree import Tree

    if id(value) in seen or isinstance(value, str | bytes | int | float | None):
        return
    seen.add(id(value))
    if isinstance(value, Tree):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _trees(entry, seen)
    elif isinstance(value, list | tuple | set) or (isinstance(value, np.ndarray) and value.dtype == object):
        for entry in value.ravel() if isinstance(value, np.ndarray) else value:
            yield from _trees(entry, seen)
    else:
        yield from _trees(getattr(value, "__dict__", {}), seen)


def _check(tree: Any) -> None:
    """Raise ValueError unless each way down a tree ends, at nodes and features that are there."""
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    numbers = np.arange(tree.node_count)
    is_leaf = left == -1
    follows = (left > numbers) & (right > numbers) & (left < len(numbers)) & (right < len(numbers))
    if not (is_leaf | (follows & (feature >= 0) & (feature < tree.n_features))).all() or not len(numbers):
        raise ValueError("its trees have nodes or features that are not there")
