"""How kernels are compiled: when first called, for the types that their signature names, and kept on disk if possible.

Until then a kernel costs nothing: its module imports without numba, and a command compiles only the kernels on its way.
`neartag warm-up` compiles all of them ahead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from neartag.core import kernel_types as types
from neartag.core.interrupts import delayed_interrupt

FLOAT, DOUBLE, ID, COUNT = types.float32, types.float64, types.int32, types.int64
# What fast kernels let the compiler assume, so that it can add up, or compare, many numbers at a time: sums may be
# taken in another order, and there is no NaN. Infinities stay allowed: lists of the best begin with −inf.
FAST_MATH = frozenset({"nnan", "nsz", "reassoc", "contract"})


def read(dtype: types.Number, ndim: int = 1) -> types.Array:
    """Return the type of an array that a kernel only reads. Arrays of memory-mapped models are read-only."""
    return types.Array(dtype, ndim, readonly=True)


# The three arrays of a CSR matrix, and a dense matrix.
POINTER, IDS, VALUES, MATRIX = read(COUNT), read(ID), read(FLOAT), read(FLOAT, 2)
SPARSE = (POINTER, IDS, VALUES)
# The same three as one argument, (indptr, indices, data), as `linalg.rows.csr_arrays` returns them. A kernel that takes
# them as a tuple is called, and runs, as quickly as one that takes each by itself.
CSR = types.Tuple(SPARSE)

# Kernels that another process compiles and keeps on disk, each with what to call to wait for that.
compiled_elsewhere: dict[Kernel, Callable[[], Any]] = {}
# Called once, after the first kernel that was not kept on disk: others may follow, and who waits wants to know why.
tell_compiling: Callable[[], None] | None = None
_compiling = threading.RLock()  # two threads may call a kernel for the first time at once


class Kernel:
    """A function that numba compiles when it is first called, or when another kernel that calls it is compiled.

    The kernel releases Python's lock, so that threads run side by side.

    numba keeps the machine code in the package's folder or in the user's cache folder. Where it can write to neither,
    as in many containers, each process compiles anew, which takes some seconds. NUMBA_CACHE_DIR names another place.
    """

    def __init__(
        self, function: Callable[..., Any], signatures: Sequence[types.Signature] | None, fastmath: bool
    ) -> None:
        self.py_func, self.signatures, self.fastmath = function, signatures, fastmath
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self._dispatcher: Any = None
        self._run: Callable[..., Any] = self._refuse if self.only_kernels_call else self._compile_and_run

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel."""
        return self._run(*arguments)

    @property
    def only_kernels_call(self) -> bool:
        """Whether the kernel's name says, by an underscore, that Python never calls it."""
        return self.__name__.startswith("_")

    @property
    def is_compiled(self) -> bool:
        """Whether this process has the machine code."""
        return self._dispatcher is not None

    def compile(self) -> Any:
        """Compile the kernel for its signatures, or read what is kept on disk; returns numba's dispatcher."""
        with _compiling:
            if not self.is_compiled:
                compiled_elsewhere.pop(self, lambda: None)()
                with delayed_interrupt():
                    self._dispatcher = _compile(self.py_func, self.signatures, self.fastmath, self.only_kernels_call)
                    if not self.only_kernels_call:
                        self._run = self._dispatcher
                _tell_once(self._dispatcher)
            return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba asks a value for that stands in a function it compiles: here, in a kernel that calls this one."""
        from numba import types as numba_types

        return numba_types.Dispatcher(self.compile())

    def _compile_and_run(self, *arguments: Any) -> Any:
        return self.compile()(*arguments)

    def _refuse(self, *_: Any) -> Any:
        raise TypeError(f"{self.__module__}.{self.__name__}: only kernels call it; drop the underscore to call it here")


def kernel(signature: types.Signature | Sequence[types.Signature], *, fastmath: bool = False) -> Callable[..., Kernel]:
    """Return a decorator that makes a function a kernel for a signature, or for each of a list of them.

    `fastmath` lets the compiler assume FAST_MATH.
    """
    signatures = [signature] if isinstance(signature, types.Signature) else list(signature)
    return lambda function: Kernel(function, signatures, fastmath)


def inner_kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel that only other kernels call, for whatever types they give it."""
    return Kernel(function, None, False)


def _tell_once(dispatcher: Any) -> None:
    """Tell that kernels are being compiled, where this one was not read from disk and nobody was told before."""
    global tell_compiling
    if tell_compiling is not None and dispatcher.stats.cache_misses:
        tell, tell_compiling = tell_compiling, None
        tell()


def _compile(
    function: Callable[..., Any], wanted: Sequence[types.Signature] | None, fastmath: bool, only_kernels_call: bool
) -> Any:
    from numba import njit

    signatures = None if wanted is None else [each.to_numba() for each in wanted]
    assumed = set(FAST_MATH) if fastmath else False
    if signatures is None:  # what calls it has its machine code too, and keeps both
        return njit(function, nogil=True)
    # C calls none of them, and Python none with an underscore: to be callable takes a sixth of the time of compiling.
    wrappers: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": only_kernels_call}
    try:
        return njit(signatures, nogil=True, cache=True, fastmath=assumed, **wrappers)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return njit(signatures, nogil=True, fastmath=assumed, **wrappers)(function)
