"""Files that are mapped, and how many of them there may be at once.

Until Python 3.13 a map keeps its file open, which nobody needs, and systems often let a process open 1,024 files only.
More clusters than that may be mapped at once, when they become a learner.
"""

from __future__ import annotations

import errno
import mmap
import sys
from contextlib import suppress

# Whether a map counts as an open file. On Windows it does not count towards any limit.
HOLDS_FILES = sys.platform != "win32" and sys.version_info < (3, 13)
# About so many maps a process of Linux may have (vm.max_map_count); and so many open files one of macOS.
MAX_OPEN_FILES, MAX_OPEN_FILES_MACOS = 2**16, 10_240

ALLOW_MORE = "allow more open files (ulimit -n), or use Python 3.13, and start again to go on"


def map_file(handle: int, nbytes: int, access: int = mmap.ACCESS_WRITE) -> mmap.mmap:
    """Return the first bytes of an open file, mapped; the file may be closed then."""
    if sys.platform != "win32" and sys.version_info >= (3, 13):
        return mmap.mmap(handle, nbytes, access=access, trackfd=False)
    return mmap.mmap(handle, nbytes, access=access)


def allow_open_files() -> None:
    """Let this process open as many files as the system lets it allow itself, where maps count as open files."""
    if not HOLDS_FILES:
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    for wanted in (most, min(most, MAX_OPEN_FILES_MACOS)):
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


def is_about_open_files(error: BaseException) -> bool:
    """Say whether an error is that too many files are open."""
    return isinstance(error, OSError) and error.errno == errno.EMFILE
