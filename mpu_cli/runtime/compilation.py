"""Compilation with numba: its options, and a cache of machine code that may fail.

This module needs numba. A cache that cannot be used costs only time. (Numba's own cache raises an error if there is no
directory for it, if a file is damaged, and if the disk is full.)

Beyond what numba documents this relies on the dispatcher's ``_cache`` (with ``load_overload``, ``save_overload``,
``flush``, ``cache_path``), and below that on ``_impl.locator`` and ``_cache_file`` (with ``load``, ``save``, ``flush``,
``_dump``); tried with numba 0.60 and 0.68. If a version lacks one of them, no machine code is kept.
"""

import hashlib
import inspect
import logging
import os
import pickle
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numba

from mpu_cli.version import __version__

_log = logging.getLogger(__name__)
_announced: set[Callable[..., Any]] = set()
_announcing = Lock()  # kernels run in threads

_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(*, fused: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function that Python code calls, and keep its machine code.

    `fused`: whether a product and a sum may become one operation, which is faster and rounds once instead of twice.
    Returns: the decorator. It returns a numba dispatcher, or the function itself if ``NUMBA_DISABLE_JIT`` is set.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        dispatcher = numba.njit(fastmath={"contract"} if fused else False, **_OPTIONS)(function)
        if hasattr(dispatcher, "_cache"):
            dispatcher._cache = _Cache(dispatcher)
        return dispatcher

    return decorate


# Functions that become part of the compiled ones that call them; and the same for `compiled(fused=True)`.
inlined = numba.njit(forceinline=True, **_OPTIONS)
fused_inlined = numba.njit(forceinline=True, fastmath={"contract"}, **_OPTIONS)


class _Cache:
    """The cache that a dispatcher asks before compiling: numba's, or none if that fails."""

    def __init__(self, dispatcher: Any) -> None:
        try:
            dispatcher.enable_caching()
            self._kept = _checked(dispatcher._cache, Path(inspect.getfile(dispatcher.py_func)))
        except RuntimeError:  # numba's words name the function and not the reason
            self._give_up("there is no writable directory for them")
        except Exception as error:
            self._give_up(error)

    @property
    def cache_path(self) -> str | None:
        """The directory, if there is one."""
        return self._kept and self._kept.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code compiled for the types of the arguments, or None, and numba compiles it."""
        overload = None
        if self._kept:
            try:
                overload = self._kept.load_overload(signature, target)
            except Exception:  # damaged files raise anything
                with suppress(Exception):
                    self._kept.flush()  # a damaged index would keep others from being saved
        if overload is None:
            announce_compilation(kept=self._kept is not None)
        return overload

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code compiled for the types of the arguments."""
        if self._kept:
            try:
                self._kept.save_overload(signature, result)
            except Exception as error:
                self._give_up(error)

    def flush(self) -> None:
        """Remove everything that is kept."""
        if self._kept:
            self._kept.flush()

    def _give_up(self, reason: Exception | str) -> None:
        self._kept = None
        announce_no_cache(reason)


class _Sealed:
    """The files of numba's cache for one function, with a checksum. Loading gives what was saved, or fails.

    Numba itself runs whatever it finds: zeros after a power failure, or code for other arguments or of another version
    if two processes or a full disk left an index and data that do not belong together.
    """

    def __init__(self, files: Any, source_stamp: Any) -> None:
        self._files = files
        self._source_stamp = source_stamp
        self.flush = files.flush

    def save(self, key: Any, data: Any) -> None:
        code = self._files._dump(data)
        self._files.save(key, (self._seal(key, code), code))

    def load(self, key: Any) -> Any:
        sealed = self._files.load(key)
        if sealed is None:
            return None
        seal, code = sealed
        if seal != self._seal(key, code):
            raise ValueError("not what was saved")
        return pickle.loads(code)

    def _seal(self, key: Any, code: bytes) -> bytes:
        return hashlib.sha256(repr((__version__, key, self._source_stamp)).encode() + code).digest()


def _checked(cache: Any, source: Path) -> Any:
    """Return numba's cache with checksums. Refuse a directory into which other users can write.

    The files are unpickled, so a user who can write them controls this process. The owner of the code of the package
    does so anyway.
    """
    folder = Path(cache.cache_path)
    if not folder.is_absolute() and not numba.config.CACHE_DIR:  # "~", from numba, where there is no home
        with suppress(OSError):
            os.removedirs(folder)
        raise FileNotFoundError("there is no home directory")
    place, code = folder.stat(), source.stat()
    if place.st_uid not in (0, os.geteuid(), code.st_uid) or place.st_mode & ~code.st_mode & stat.S_IWOTH:
        raise PermissionError(f"{folder} can be written by others")
    cache._cache_file = _Sealed(cache._cache_file, cache._impl.locator.get_source_stamp())
    return cache


def announce_compilation(*, kept: bool) -> None:
    """Log, once, that functions will be compiled. `kept`: whether the next process will find their machine code."""
    if _first(announce_compilation):
        _log.info(f"compiling the fast kernels{' that are used for the first time' if kept else ''} (numba)...")


def announce_no_cache(reason: Exception | str) -> None:
    """Log, once, why machine code cannot be kept, and what to do."""
    if _first(announce_no_cache):
        _log.info(
            f"compiled kernels are not kept, so each run compiles them: {reason}; "
            "set NUMBA_CACHE_DIR to a directory that only you can write"
        )


def _first(announcement: Callable[..., Any]) -> bool:
    """Whether an announcement has not been made before in this process."""
    with _announcing:
        new = announcement not in _announced
        _announced.add(announcement)
        return new
