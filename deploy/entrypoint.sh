#!/bin/sh
# numba reads kept machine code only from a folder that it may write to, and the image is read-only: the kernels go to
# the temporary file system first. Without one, neartag compiles what it needs at each start.
if mkdir -p "$NUMBA_CACHE_DIR" 2>/dev/null; then
  cp -R /opt/neartag/kernels/. "$NUMBA_CACHE_DIR/" 2>/dev/null
fi
exec neartag "$@"
