"""The types in the signatures of kernels, written as numba writes them, and known without importing numba.

`types.void(FLOAT[::1], COUNT)` is the signature of a function that returns nothing and takes a contiguous array of
float32 and an int64. Importing numba takes a third of a second: who only reads a model's settings, or names a file that
is not there, should not wait for it. `to_numba()` gives numba's own type, when a kernel is first called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Type:
    """What values of kernels can be: numbers, arrays and tuples of them."""

    def to_numba(self) -> Any:
        """Return numba's own type."""
        raise NotImplementedError

    def __call__(self, *arguments: Type) -> Signature:
        """Return the signature of a function with this result."""
        return Signature(self, arguments)


@dataclass(frozen=True)
class Number(Type):
    """A number, or nothing, under the name that numba has for it."""

    name: str

    def to_numba(self) -> Any:
        """Return numba's own type."""
        from numba import types

        return getattr(types, self.name)

    def __getitem__(self, axes: Any) -> Array:
        """Return the type of a contiguous array that a kernel writes to: `FLOAT[::1]`, `FLOAT[:, ::1]`."""
        axes = axes if isinstance(axes, tuple) else (axes,)
        if axes != (slice(None),) * (len(axes) - 1) + (slice(None, None, 1),):
            raise TypeError(f"{self.name}{list(axes)}: arrays of kernels are contiguous, [::1] or [:, ::1]")
        return Array(self, len(axes))


@dataclass(frozen=True)
class Array(Type):
    """A contiguous array; one that is only read may be read-only, as those of memory-mapped models are."""

    dtype: Number
    ndim: int
    readonly: bool = False

    def to_numba(self) -> Any:
        """Return numba's own type."""
        from numba import types

        return types.Array(self.dtype.to_numba(), self.ndim, "C", readonly=self.readonly)


@dataclass(frozen=True)
class Tuple(Type):
    """A tuple of values of any types."""

    parts: tuple[Type, ...]

    def to_numba(self) -> Any:
        """Return numba's own type."""
        from numba import types

        return types.Tuple([part.to_numba() for part in self.parts])


@dataclass(frozen=True)
class Signature:
    """A function's result and arguments."""

    result: Type
    arguments: tuple[Type, ...]

    def to_numba(self) -> Any:
        """Return numba's own signature."""
        return self.result.to_numba()(*(argument.to_numba() for argument in self.arguments))


def UniTuple(part: Type, count: int) -> Tuple:  # noqa: N802 - numba's name
    """Return the type of a tuple of `count` values of one type."""
    return Tuple((part,) * count)


void, boolean = Number("void"), Number("boolean")
int8, uint8 = Number("int8"), Number("uint8")
int32, uint32 = Number("int32"), Number("uint32")
int64, uint64 = Number("int64"), Number("uint64")
float32, float64 = Number("float32"), Number("float64")
