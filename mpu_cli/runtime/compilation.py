"""Compilation with numba: its options, and its cache of machine code, whose failures only cost time.

This module needs numba.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

_log = logging.getLogger(__name__)
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(*, fused: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function that Python code calls, and cache its machine code.

    `fused`: whether a product and a sum may become one operation, which is faster and rounds once instead of twice.
    Returns: the decorator. It returns a numba dispatcher, or the function itself if ``NUMBA_DISABLE_JIT`` is set.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        dispatcher = numba.njit(fastmath={"contract"} if fused else False, **_OPTIONS)(function)
        try:
            if not numba.config.CACHE_DIR:
                Path.home()  # without one, numba would create a directory "~" in the working directory
            dispatcher._cache = _Cache(function)  # as `cache=True` does
        except RuntimeError:
            announce_no_cache("there is no writable directory for them")
        return dispatcher

    return decorate


# Decorators for functions that are inlined into compiled functions; and the same for `compiled(fused=True)`.
inlined = numba.njit(forceinline=True, **_OPTIONS)
fused_inlined = numba.njit(forceinline=True, fastmath={"contract"}, **_OPTIONS)


class _Cache(FunctionCache):
    """Numba's cache for ``njit(cache=True)``, without its errors for a damaged file or a full disk."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        overload = None
        try:
            overload = super().load_overload(signature, target)
        except Exception:  # damaged files raise any exception
            with suppress(OSError):
                self.flush()  # a damaged index would keep others from being saved
        if overload is None:
            announce_compilation()
        return overload

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            super().save_overload(signature, result)
        except OSError as error:
            announce_no_cache(error.strerror or str(error))


@cache
def announce_compilation() -> None:
    """Log, once, that functions will be compiled."""
    _log.info("compiling the fast kernels that are used for the first time (numba)...")


@cache
def announce_no_cache(reason: str) -> None:
    """Log, once for each reason, why machine code cannot be cached, and what to do."""
    _log.info(
        f"compiled kernels are not kept, so each run compiles them: {reason}; "
        "set NUMBA_CACHE_DIR to a directory that only you can write"
    )
