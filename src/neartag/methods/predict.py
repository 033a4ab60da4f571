"""Prediction for many rows, batch by batch, with progress."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neartag.core.progress import Progress


def predict_batches(model: Any, rows: Any, k: int, n_jobs: int, progress: Progress) -> Iterator[tuple[Any, Any]]:
    """Yield labels and scores of one batch of rows after another, as `predict_topk` gives them."""
    with progress.start(rows.shape[0], "predicting"):
        # The model's own batches, so that the answers are those of one call for all rows, to the last bit.
        for first in range(0, rows.shape[0], model.batch_rows):
            batch = rows[first : first + model.batch_rows]
            yield model.predict_topk(batch, k, n_jobs=n_jobs)
            progress.advance(batch.shape[0])
