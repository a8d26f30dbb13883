"""What the server of `tests.forked` does first: it takes the compiled kernels from the cache, for all its copies."""

from tests import kernels

if kernels.NUMBA:
    for compilation in kernels.compilations():
        compilation()
