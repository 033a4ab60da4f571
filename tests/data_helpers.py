"""Data sets for the tests of readers and writers: made by hypothesis, by hand, and compared."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from neartag.data.dataset import Dataset

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
# Names fit to stand on a line of their own; what a line cannot hold has tests of its own.
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=8)


def rows(rows_of_pairs: list[dict[int, float]], columns: int) -> csr_matrix:
    """Return a matrix from a dictionary a row."""
    pointers = np.cumsum([0] + [len(row) for row in rows_of_pairs])
    ids = np.array([key for row in rows_of_pairs for key in sorted(row)], dtype=np.int32)
    values = np.array([row[key] for row in rows_of_pairs for key in sorted(row)], dtype=np.float32)
    return csr_matrix((values, ids, pointers), shape=(len(rows_of_pairs), columns))


def toy(**changes) -> Dataset:
    """Return three points: one whole, one without labels, one with neither labels nor features."""
    fields = {
        "X": rows([{0: 0.1, 3: 1e-6}, {1: -2.5}, {}], 4),
        "Y": rows([{1: 1, 2: 1}, {}, {}], 3),
    }
    return Dataset(**{**fields, **changes})


@st.composite
def datasets(draw, point_names: bool = True) -> Dataset:
    """Return small data sets with every oddity: empty rows, names that repeat, extreme values."""
    n, d, L = draw(st.integers(1, 5)), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    features = [draw(st.dictionaries(st.integers(0, d - 1), singles, max_size=d)) for _ in range(n)]
    labels = [dict.fromkeys(draw(st.sets(st.integers(0, L - 1))), 1.0) for _ in range(n)]

    def some_names(count: int) -> list[str] | None:
        return draw(st.none() | st.lists(names, min_size=count, max_size=count))

    return Dataset(
        X=rows(features, d),
        Y=rows(labels, L),
        label_names=some_names(L),
        feature_names=some_names(d),
        point_names=some_names(n) if point_names else None,
    )


def assert_same(found: Dataset, wanted: Dataset) -> None:
    """Hold two data sets equal to the last bit, the data set's own name aside."""
    for matrix, other in ((found.X, wanted.X), (found.Y, wanted.Y)):
        assert matrix.shape == other.shape
        assert matrix.dtype == np.float32
        assert matrix.indptr.tolist() == other.indptr.tolist()
        assert matrix.indices.tolist() == other.indices.tolist()
        assert matrix.data.tobytes() == other.data.tobytes()
    assert found.label_names == wanted.label_names
    assert found.feature_names == wanted.feature_names
    assert found.point_names == wanted.point_names
