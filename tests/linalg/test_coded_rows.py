"""Coded rows: near the rows, coded once and for all, and multiplied as their decoded numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from neartag.linalg.coded_rows import CodedRows
from neartag.linalg.hybrid_rows import HybridRows, round_vectors
from neartag.linalg.packing import check_rows, get_coded, get_rows, put_rows


def made(n=40, e=33) -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((n, e)).astype(np.float32)
    rows[3] = 0
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def test_rows_are_near_and_coding_again_changes_nothing():
    rows = made()
    coded = CodedRows.encode(rows, rows_at_once=7)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    assert (np.abs(coded.decode() - rows) <= largest / 250).all()
    again = CodedRows.encode(coded.decode())
    assert np.array_equal(again.codes, coded.codes)
    assert np.array_equal(again.scales, coded.scales)
    assert not coded.decode(np.array([3])).any()
    alone = CodedRows.encode(rows[5:6])
    assert np.array_equal(alone.codes, coded.codes[5:6])


@pytest.mark.parametrize("threads", [1, 3])
def test_products_are_those_of_decoded_rows(threads):
    coded, queries = CodedRows.encode(made()), made(12)
    numbers = np.random.default_rng(1).integers(-1, 44, (12, 9)).astype(np.int32)
    there = (numbers >= 0) & (numbers < 40)
    exact = np.einsum("ij,icj->ic", queries, coded.decode()[np.where(there, numbers, 0)])
    np.testing.assert_allclose(coded.products(queries, numbers, threads), np.where(there, exact, 0), atol=1e-5)


def test_rows_are_taken_put_and_added():
    coded = CodedRows.encode(made())
    assert np.array_equal(coded.take(np.array([5, 2])).decode(), coded.decode()[[5, 2]])
    assert np.array_equal(coded.put(np.array([1]), coded.take(np.array([7]))).decode()[1], coded.decode()[7])
    longer = coded.extend(43)
    assert len(longer) == 43
    assert not longer.decode()[40:].any()
    assert coded.extend(40) is coded


def test_hybrid_rows_are_kept_with_coded_vectors():
    from kernel_helpers import random_rows

    rows = HybridRows(random_rows(40, 9), made())
    arrays: dict[str, np.ndarray] = {}
    put_rows(arrays, "rows", rows)
    check_rows(arrays, "rows", 40, 42)
    read, rounded = get_rows(arrays, "rows"), round_vectors(rows)
    assert np.array_equal(read.toarray(), rounded.toarray())
    assert round_vectors(rows.words) is rows.words
    with pytest.raises(ValueError, match="not"):
        check_rows(arrays, "rows", 40, 43)
    arrays["rows.vectors.scales"] = np.full(40, -1, np.float32)
    with pytest.raises(ValueError, match="one scale a row"):
        get_coded(arrays, "rows.vectors", 40, 33)
