"""How fast the XMC text is parsed beside scikit-learn's load_svmlight_file, on the same bytes in turn.

    NEARTAG_DATA=… python benchmarks/parse.py [data set] [rounds]

scikit-learn gets the bytes without the header line, as it cannot read that. Prints both medians and the median ratio.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_svmlight_file

from neartag.data.formats.xmc import read_xmc
from neartag.data.registry import find


def seconds(action) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main(name: str = "eurlex4k-partial", rounds: int = 5) -> None:
    source = find(name) / "train.txt"
    content = source.read_bytes()
    body = content[content.index(b"\n") + 1 :]
    with tempfile.TemporaryDirectory() as folder:  # apart from labels.txt and features.txt, which are no part of it
        path = Path(folder) / "train.txt"
        path.write_bytes(content)
        ours = read_xmc(path)  # and the kernel is compiled
        theirs = load_svmlight_file(io.BytesIO(body), multilabel=True, zero_based=True, n_features=ours.n_features)
        assert (ours.X.indices == theirs[0].indices).all()
        assert np.allclose(ours.X.data, theirs[0].data)
        times = [
            (
                seconds(lambda: read_xmc(path)),
                seconds(lambda: load_svmlight_file(io.BytesIO(body), multilabel=True, zero_based=True)),
            )
            for _ in range(rounds)
        ]
    ratio = median(mine / other for mine, other in times)
    mine, other = (median(column) for column in zip(*times, strict=True))
    print(f"{name}: {len(content) / 1e6:.1f} MB, {ours.X.nnz} pairs, median of {rounds} in turn, CPU seconds")
    print(f"neartag {mine:.3f}   load_svmlight_file {other:.3f}   ratio {ratio:.3f} (at most 3 allowed)")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
