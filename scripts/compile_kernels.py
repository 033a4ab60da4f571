"""Compile all kernels anew, so that numba has them in its cache before the tests start."""

from __future__ import annotations

from neartag.core.warm_up import delete_kept_kernels, warm_up

if __name__ == "__main__":
    delete_kept_kernels()
    warm_up()
