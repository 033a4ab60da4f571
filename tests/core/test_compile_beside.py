"""A second process compiles kernels, and this one reads what it kept."""

from __future__ import annotations

import importlib
import sys

import pytest

from neartag.core import compile_beside as beside
from neartag.core import jit

SOURCE = """
from neartag.core.jit import DOUBLE, kernel

@kernel(DOUBLE(DOUBLE))
def half(value):
    return value / 2

@kernel(DOUBLE(DOUBLE))
def third(value):
    return value / 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a module of two kernels that nothing is kept of, which other processes can import too."""
    (tmp_path / "thin_kernels.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "thin_kernels", raising=False)
    monkeypatch.setattr(beside, "available_cores", lambda: 2)
    yield importlib.import_module("thin_kernels")
    jit.compiled_elsewhere.clear()


def test_kernels_wait_for_the_process_that_compiles_them(module):
    assert beside.compile_beside([module.half, module.third])
    assert set(jit.compiled_elsewhere) == {module.half, module.third}
    assert module.half(5.0) == 2.5
    assert set(jit.compiled_elsewhere) == {module.third}
    assert beside.is_kept(module.third), "the other process has ended, and has kept both"
    assert len(module.half.compile().stats.cache_hits) == 1, "read, not compiled again"


def test_no_process_for_what_is_kept(module):
    for each in (module.half, module.third):
        each.compile()
    again = jit.Kernel(module.half.py_func, module.half.signatures, fastmath=False)
    assert not beside.compile_beside([again])


def test_no_process_on_a_single_core(module, monkeypatch):
    monkeypatch.setattr(beside, "available_cores", lambda: 1)
    assert not beside.compile_beside([module.half])
    assert module.half(5.0) == 2.5


def test_no_process_where_nothing_can_be_kept(module, monkeypatch):
    def refuse(function):
        raise RuntimeError("cannot cache function 'half': no locator available")

    monkeypatch.setattr("numba.core.caching.CompileResultCacheImpl", refuse)
    assert not beside.compile_beside([module.half])


def test_no_process_where_none_can_be_started(module, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(beside.subprocess, "Popen", refuse)
    assert not beside.compile_beside([module.half])
    assert module.half(5.0) == 2.5


def test_another_numba_is_left_to_itself(module, monkeypatch):
    monkeypatch.delattr("numba.core.caching.CompileResultCacheImpl")
    assert not beside.compile_beside([module.half])


def test_a_process_that_does_not_end_is_given_up(module, monkeypatch):
    monkeypatch.setattr(beside, "_CODE", "import time; time.sleep(600)")
    monkeypatch.setattr(beside, "PATIENCE", 0.1)
    assert beside.compile_beside([module.half])
    assert module.half(5.0) == 2.5


def test_nothing_is_run_from_the_folder_that_the_user_stands_in(module, tmp_path, monkeypatch):
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "numba.py").write_text("open('was-run', 'w').close()")
    monkeypatch.chdir(folder)
    assert beside.compile_beside([module.half])
    assert module.half(5.0) == 2.5
    assert not (folder / "was-run").exists()


def test_a_process_that_fails_costs_nothing_but_time(module, monkeypatch):
    monkeypatch.setattr(beside.sys, "executable", "/bin/false")
    assert beside.compile_beside([module.half])
    assert module.half(5.0) == 2.5
