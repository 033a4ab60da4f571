"""Kernels compiled in a second process while this one compiles others: the first answer comes in half the time.

numba holds Python's lock while it compiles, so that threads would not help. What the second process compiles is kept on
disk, and read from there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from neartag.core.jit import Kernel, compiled_elsewhere
from neartag.core.threads import available_cores


def compile_beside(kernels: Sequence[Kernel]) -> bool:
    """Start a process that compiles these kernels, the first of which are needed first; say whether it was started.

    A kernel that is called meanwhile waits for that process. There is none where all kernels are kept on disk already,
    where nothing can be kept there, and where there is a single core.
    """
    missing = [each for each in kernels if not each.is_compiled and not is_kept(each)]
    if not missing or available_cores() < 2 or not sys.executable:
        return False
    names = [f"{each.__module__}:{each.__name__}" for each in missing]
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *names],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    compiled_elsewhere.update(dict.fromkeys(missing, process.wait))
    return True


def is_kept(kernel: Kernel) -> bool:
    """Say whether numba keeps something of this kernel on disk, or has no place to keep it at."""
    from numba.core.caching import CompileResultCacheImpl

    try:
        cache = CompileResultCacheImpl(kernel.py_func)
    except RuntimeError:  # there is no such place
        return True
    return Path(cache.locator.get_cache_path(), f"{cache.filename_base}.nbi").exists()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        module, _, function = name.partition(":")
        getattr(import_module(module), function).compile()
