"""How kernels are compiled: once, for the types that their signature names, and kept on disk where possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types

FLOAT, DOUBLE, ID, COUNT = types.float32, types.float64, types.int32, types.int64
# What fast kernels let the compiler assume, so that it can add up, or compare, many numbers at a time: sums may be
# taken in another order, and there is no NaN. Infinities stay allowed: lists of the best begin with −inf.
FAST_MATH = frozenset({"nnan", "nsz", "reassoc", "contract"})


def read(dtype: types.Type, ndim: int = 1) -> types.Array:
    """Return the type of an array that a kernel only reads. Arrays of memory-mapped models are read-only."""
    return types.Array(dtype, ndim, "C", readonly=True)


# The three arrays of a CSR matrix, and a dense matrix.
POINTER, IDS, VALUES, MATRIX = read(COUNT), read(ID), read(FLOAT), read(FLOAT, 2)
SPARSE = (POINTER, IDS, VALUES)
# The same three as one argument, (indptr, indices, data), as `linalg.rows.csr_arrays` returns them. A kernel that takes
# them as a tuple is called, and runs, as quickly as one that takes each by itself.
CSR = types.Tuple(SPARSE)


def kernel(signature: Any, *, fastmath: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function for a signature, or for each of a list of them.

    The kernel releases Python's lock, so that threads run side by side. `fastmath` lets the compiler assume FAST_MATH.

    numba keeps the machine code in the package's folder or in the user's cache folder. Where it can write to neither,
    as in many containers, each process compiles anew, which takes some seconds. NUMBA_CACHE_DIR names another place.
    """
    assumed = set(FAST_MATH) if fastmath else False

    def compile_kernel(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, nogil=True, cache=True, fastmath=assumed)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return njit(signature, nogil=True, fastmath=assumed)(function)

    return compile_kernel
