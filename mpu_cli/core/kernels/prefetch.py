"""A hint to the processor for compiled code. Import this module only to use it: it needs numba."""

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mpu_cli.runtime.compilation import inlined

_CACHE_LINE = 64  # bytes
_READ, _KEEP, _DATA = 0, 3, 1  # arguments of LLVM's intrinsic function


@intrinsic
def _prefetch(_typing_context, array, i):
    """Ask for the cache line that holds ``array[i]``, and do not wait for it; nothing is read, whatever i is."""

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args
        address = cgutils.get_item_pointer(
            context,
            builder,
            array_type,
            context.make_array(array_type)(context, builder, arguments[0]),
            [context.cast(builder, arguments[1], index_type, types.intp)],
            wraparound=False,
            boundscheck=False,
        )
        byte_pointer = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        hint = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, number, number, number]),
            "llvm.prefetch.p0i8",
        )
        builder.call(hint, [builder.bitcast(address, byte_pointer), *map(number, (_READ, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(array, i), generate


@inlined
def _ask(array, start, stop):
    """Ask for ``array[start:stop]``, of 32-bit numbers, to be brought near the processor while it does other work."""
    for i in range(start, stop, _CACHE_LINE // 4):
        _prefetch(array, i)


def _do_nothing(array, start, stop):
    """Do nothing: there is no such hint in Python."""


prefetch = _do_nothing if numba.config.DISABLE_JIT else _ask
