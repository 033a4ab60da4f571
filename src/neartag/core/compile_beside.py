"""Kernels compiled in a second process while this one compiles others: the first answer comes in half the time.

numba holds Python's lock while it compiles, so that threads would not help. What the second process compiles is kept on
disk, and read from there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from neartag.core.jit import Kernel, compiled_elsewhere
from neartag.core.threads import available_cores

# What the process runs. It imports from where this one does, and not from the folder that the user stands in.
_CODE = (
    "import os, sys; sys.path[:] = sys.argv[1].split(os.pathsep); "
    "from neartag.core.compile_beside import compile_named; compile_named(sys.argv[2:])"
)
# Seconds after which a process that has not ended is given up.
PATIENCE = 60


def compile_beside(kernels: Sequence[Kernel]) -> bool:
    """Start a process that compiles these kernels, the first of which are needed first; say whether it was started.

    A kernel that is called meanwhile waits for that process. There is none where all kernels are kept on disk already,
    where nothing can be kept there, where there is a single core, and where none can be started.
    """
    missing = [each for each in kernels if not each.is_compiled and not is_kept(each)]
    if not missing or available_cores() < 2 or not sys.executable:
        return False
    names = [f"{each.__module__}:{each.__name__}" for each in missing]
    command = [sys.executable, "-I", "-c", _CODE, os.pathsep.join(sys.path), *names]
    null = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
    except OSError:  # no process may be started here
        return False

    def wait() -> None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
            return
        process.kill()

    compiled_elsewhere.update(dict.fromkeys(missing, wait))
    return True


def compile_named(names: Sequence[str]) -> None:
    """Compile the kernels of these names, module:function."""
    for name in names:
        module, _, function = name.partition(":")
        getattr(import_module(module), function).compile()


def is_kept(kernel: Kernel) -> bool:
    """Say whether numba keeps something of this kernel on disk, or has no place to keep it at."""
    try:
        from numba.core.caching import CompileResultCacheImpl

        cache = CompileResultCacheImpl(kernel.py_func)
        return Path(cache.locator.get_cache_path(), f"{cache.filename_base}.nbi").exists()
    except (RuntimeError, ImportError, AttributeError):  # no place; or another numba, which keeps them otherwise
        return True
