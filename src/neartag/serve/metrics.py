"""What a worker counts, in Prometheus's text format. Each worker counts for itself: the label `pid` tells which."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from neartag.core import memory

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TEXTS_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram:
    """How many values were at most each bound, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Metrics:
    """The counts of one worker."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by path and status
        self.seconds: dict[str, Histogram] = {}  # by path
        self.batches = Histogram(TEXTS_BOUNDS)
        self.under_way = 0
        self.reloads = self.reload_errors = 0
        self._lock = threading.Lock()

    def count_answer(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered; from the event loop only."""
        self.requests[path, status] += 1
        if path not in self.seconds:
            self.seconds[path] = Histogram(SECONDS_BOUNDS)
        self.seconds[path].add(seconds)

    def count_batch(self, texts: int) -> None:
        """Count a batch, from whichever thread."""
        with self._lock:
            self.batches.add(texts)

    def to_text(self, points: int, labels: int, stale: bool) -> str:
        """Return all counts, and the size of the model, in Prometheus's format."""
        requests = [({"path": path, "status": str(status)}, count) for (path, status), count in self.requests.items()]
        lines = [
            *_lines_of_samples("neartag_requests_total", "counter", "Requests answered, by path and status.", requests),
            *_histograms("neartag_request_seconds", "Seconds from a request to its answer, by path.", self.seconds),
            *_histograms("neartag_batch_texts", "Texts that one pass over the points answered.", {"": self.batches}),
        ]
        for name, kind, about, value in (
            ("neartag_requests_under_way", "gauge", "Requests being answered.", self.under_way),
            ("neartag_model_points", "gauge", "Points of the model.", points),
            ("neartag_model_labels", "gauge", "Labels of the model.", labels),
            ("neartag_model_stale", "gauge", "1 where the folder holds what could not be taken in.", int(stale)),
            ("neartag_reloads_total", "counter", "Times that others' changes were taken in.", self.reloads),
            ("neartag_reload_errors_total", "counter", "Times that they could not be.", self.reload_errors),
            ("neartag_memory_bytes", "gauge", "Memory of the process, mapped files left out.", memory.in_use()),
        ):
            lines += _lines_of_samples(name, kind, about, [({}, value)])
        return "\n".join(lines) + "\n"


def _lines_of_samples(name: str, kind: str, about: str, samples: Iterable[tuple[dict[str, str], float]]) -> list[str]:
    return [*_head(name, kind, about), *(_sample(name, labels, value) for labels, value in samples)]


def _histograms(name: str, about: str, by_path: Mapping[str, Histogram]) -> list[str]:
    lines = _head(name, "histogram", about)
    for path, histogram in by_path.items():
        labels = {"path": path} if path else {}
        below = 0
        for bound, count in zip((*histogram.bounds, "+Inf"), histogram.counts, strict=True):
            below += count
            lines.append(_sample(f"{name}_bucket", {**labels, "le": str(bound)}, below))
        lines += [_sample(f"{name}_sum", labels, histogram.sum), _sample(f"{name}_count", labels, below)]
    return lines


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{key}="{text}"' for key, text in {**labels, "pid": str(os.getpid())}.items())
    return f"{name}{{{pairs}}} {value!r}"
