"""How kernels are compiled: once, for the types named, kept on disk where there is a place for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types

FLOAT, DOUBLE, ID, COUNT = types.float32, types.float64, types.int32, types.int64


def read(dtype: types.Type, ndim: int = 1) -> types.Array:
    """Return the type of an array that is only read, so that memory-mapped models can be handed in as they are."""
    return types.Array(dtype, ndim, "C", readonly=True)


# The three arrays of a CSR matrix, and a dense matrix.
POINTER, IDS, VALUES, MATRIX = read(COUNT), read(ID), read(FLOAT), read(FLOAT, 2)
SPARSE = (POINTER, IDS, VALUES)
CSR = types.Tuple(SPARSE)  # the three as one argument


def kernel(signature: Any, *, fastmath: bool | set[str] = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function for a signature; it releases the GIL and is cached on disk.

    Where neither the package's folder nor the user's cache folder can be written, as in many containers, numba
    refuses to cache; it is then compiled anew in each process, which takes some seconds. NUMBA_CACHE_DIR names a place.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, nogil=True, cache=True, fastmath=fastmath)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return njit(signature, nogil=True, fastmath=fastmath)(function)

    return compiled
