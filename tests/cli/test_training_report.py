"""What `neartag train` says in the end."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from neartag.cli.training_report import count_mapped_bytes
from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows

WORDS, VECTORS = np.eye(4, 6, dtype=np.float32), np.ones((4, 3), np.float32)


def in_file(array, path):
    """Return the array in a mapped file."""
    mapped = np.memmap(path, array.dtype, "w+", shape=array.shape)
    mapped[:] = array
    return mapped


def sparse_in_files(rows, folder, name):
    indices, data = (in_file(each, folder / f"{name}{place}") for place, each in enumerate((rows.indices, rows.data)))
    return sparse.csr_matrix((data, indices, rows.indptr), rows.shape)


@pytest.mark.parametrize(
    ("kind", "vector_bytes"), [("none", 0), ("alone", 48), ("in memory", 0), ("in a file", 48), ("coded", 12 + 16)]
)
def test_all_that_is_in_mapped_files_is_counted(kind, vector_bytes, tmp_path):
    words, labels = (sparse_in_files(sparse.csr_matrix(WORDS), tmp_path, name) for name in ("words", "labels"))
    vectors = VECTORS if kind == "in memory" else in_file(VECTORS, tmp_path / "vectors")
    if kind == "coded":
        coded = CodedRows.encode(VECTORS)
        vectors = CodedRows(in_file(coded.codes, tmp_path / "codes"), in_file(coded.scales, tmp_path / "scales"))
    X = {"none": words, "alone": vectors}.get(kind, HybridRows(words, vectors))
    sparse_bytes = 8 * 4
    wanted = vector_bytes + sparse_bytes * (1 if kind == "alone" else 2)
    assert count_mapped_bytes(SimpleNamespace(X=X, Y=labels)) == wanted
