"""Kernels are compiled when first called, once, whether or not there is a place to keep them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from neartag.core import jit
from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, CSR, DOUBLE, FLOAT, ID, MATRIX, Kernel, inner_kernel, kernel, read


def half(value):
    return value / 2


@pytest.fixture
def compiled(monkeypatch):
    """Return the functions that numba was asked to compile, in their order."""
    real, asked = jit._compile, []

    def noting(function, *settings):
        asked.append(function)
        return real(function, *settings)

    monkeypatch.setattr(jit, "_compile", noting)
    return asked


def test_a_kernel_is_compiled_when_it_is_first_called_and_only_then(compiled):
    made = kernel(DOUBLE(DOUBLE))(half)
    assert not compiled
    assert not made.is_compiled
    assert [made(5.0), made(3.0)] == [2.5, 1.5]
    assert len(compiled) == 1
    assert made.is_compiled


def test_a_kernel_in_another_is_compiled_with_it_for_its_own_signature(compiled):
    inner = kernel(FLOAT(FLOAT))(lambda value: value / np.float32(3))
    generic = inner_kernel(lambda value: value + 1)
    outer = kernel(DOUBLE(DOUBLE))(lambda value: inner(value) + generic(0.0))
    assert outer(1.0) == 1.0 + np.float32(1) / np.float32(3)  # the argument was made a float32
    assert inner.is_compiled
    assert generic.is_compiled


def test_what_only_kernels_call_refuses_python(compiled):
    """Its machine code has no entrance for Python: a call would end the process."""

    def _third(value):
        return value / 3

    inner = kernel(DOUBLE(DOUBLE))(_third)
    with pytest.raises(TypeError, match="_third: only kernels call it"):
        inner(3.0)
    inner.compile()
    with pytest.raises(TypeError, match="_third: only kernels call it"):
        inner(3.0)
    assert kernel(DOUBLE(DOUBLE))(lambda value: inner(value) + 1)(6.0) == 3.0


def test_threads_that_call_it_first_at_once_compile_it_once(compiled):
    made = kernel(DOUBLE(DOUBLE))(half)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(made, [2.0] * 16)) == [1.0] * 16
    assert len(compiled) == 1


def test_who_waits_for_compiling_is_told_once(monkeypatch):
    told = []
    monkeypatch.setattr(jit, "tell_compiling", lambda: told.append("told"))
    for number in (2.0, 3.0):
        made = kernel(DOUBLE(DOUBLE))(eval(f"lambda value: value / {number}"))  # which numba cannot keep on disk
        assert made(6.0) == 6.0 / number
    assert told == ["told"]


def test_nobody_is_told_of_a_kernel_that_was_kept(monkeypatch):
    kept = type("Dispatcher", (), {"stats": type("Stats", (), {"cache_misses": {}})})
    monkeypatch.setattr(jit, "tell_compiling", lambda: pytest.fail("nothing was compiled"))
    jit._tell_once(kept)
    assert jit.tell_compiling is not None, "the next may have to be compiled"


def test_where_nothing_can_be_kept_kernels_are_compiled_all_the_same(monkeypatch):
    real, asked = numba.njit, []

    def refusing(signatures, **options):
        asked.append(options.get("cache", False))
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'half': no locator available for file 'x.py'")
        return real(signatures, **options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert kernel(DOUBLE(DOUBLE))(half)(5.0) == 2.5
    assert asked == [True, False]


def test_other_errors_are_not_hidden(monkeypatch):
    def failing(signatures, **options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", failing)
    with pytest.raises(RuntimeError, match="something else"):
        kernel(DOUBLE(DOUBLE))(half)(5.0)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (DOUBLE(FLOAT, ID), numba.float64(numba.float32, numba.int32)),
        (types.void(FLOAT[::1], COUNT[:, ::1]), numba.void(numba.float32[::1], numba.int64[:, ::1])),
        (types.boolean(read(types.uint8)), numba.boolean(numba.types.Array(numba.uint8, 1, "C", readonly=True))),
        (types.UniTuple(COUNT, 2)(types.int8), numba.types.UniTuple(numba.int64, 2)(numba.int8)),
        (
            types.void(CSR, MATRIX),
            numba.void(
                numba.types.Tuple(
                    [
                        numba.types.Array(kind, 1, "C", readonly=True)
                        for kind in (numba.int64, numba.int32, numba.float32)
                    ]
                ),
                numba.types.Array(numba.float32, 2, "C", readonly=True),
            ),
        ),
    ],
)
def test_signatures_are_those_of_numba(ours, theirs):
    assert ours.to_numba() == theirs


@pytest.mark.parametrize("axes", [slice(None), (slice(None, None, 1), slice(None)), slice(None, None, 2), 1])
def test_arrays_that_are_not_contiguous_are_refused(axes):
    with pytest.raises(TypeError, match="contiguous"):
        FLOAT[axes]


def test_importing_kernels_loads_no_numba():
    from neartag.core.warm_up import kernel_modules

    program = f"import sys, importlib; [importlib.import_module(name) for name in {kernel_modules()!r}]"
    subprocess.run([sys.executable, "-c", program + "; assert 'numba' not in sys.modules"], check=True)


def test_warming_up_compiles_every_kernel_that_python_calls(monkeypatch):
    from neartag.core import warm_up

    told, asked = [], []
    monkeypatch.setattr(warm_up, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(1))
    monkeypatch.setattr(Kernel, "compile", lambda self: asked.append(f"{self.__module__}.{self.__name__}") or self)
    assert warm_up.warm_up(1, lambda done, of: told.append((done, of))) == len(asked)
    assert told[-1] == (len(warm_up.kernel_modules()),) * 2
    assert "neartag.x1.vote_kernels.vote_top" in asked
    assert "neartag.data.formats.xmc_kernels.parse_rows" in asked
    assert len(set(asked)) == len(asked) > 90


def test_the_command_tells_how_many(monkeypatch):
    from cli_helpers import succeed
    from neartag.core import warm_up

    monkeypatch.setattr(warm_up, "warm_up", lambda jobs, report: report(1, 1) or 7)
    assert succeed("warm-up").startswith("7 kernels are compiled and kept")
    assert '"kernels": 7' in succeed("warm-up", "--json")


def test_what_is_kept_is_deleted(tmp_path, monkeypatch):
    from neartag.core import warm_up

    for name in ("a.nbi", "b.1.nbc", "c.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(warm_up, "PACKAGE", tmp_path)
    warm_up.delete_kept_kernels()
    assert [path.name for path in tmp_path.iterdir()] == ["c.py"]


def test_fast_mathematics_keep_infinities():
    assert "ninf" not in jit.FAST_MATH
