"""Documents with words and vectors, added to a folder: read as they were written, one segment after another."""

from __future__ import annotations

import numpy as np

from hybrid_helpers import hybrid_problem
from neartag.linalg.hybrid_rows import round_vectors
from neartag.storage.segments import Segment, merge_segments

X, Y = hybrid_problem(20)


def segment(first: int, last: int) -> Segment:
    return Segment(X[first:last], Y[first:last], [str(number) for number in range(first, last)], [], None)


def test_rows_of_both_parts_are_read_as_they_were_written():
    read = [Segment.from_arrays(segment(*part).to_arrays(), X.shape[1]) for part in ((0, 12), (12, 20))]
    merged = merge_segments(read)
    assert np.array_equal(merged.rows.toarray(), round_vectors(X).toarray())
    assert merged.without_first(5, Y.shape[1]).rows.shape == (15, X.shape[1])
    again = Segment.from_arrays(merged.to_arrays(), X.shape[1])  # written again, nothing changes
    assert np.array_equal(again.rows.toarray(), merged.rows.toarray())
