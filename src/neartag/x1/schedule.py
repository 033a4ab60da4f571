"""In what order clusters are trained, how many at once, and on how many threads each.

Clusters side by side use the cores best: nothing in them waits for anything. But a few large ones would leave cores
idle at the end, and two at once need twice the memory. So a cluster that makes up a good part of the work has all
threads to itself, the others run side by side, and only as many as there is memory for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neartag.core import memory
from neartag.core.errors import ParameterError
from neartag.core.memory import format_bytes
from neartag.x1.regression import cheapest_solver_for
from neartag.x1.settings import SVPSettings

# Bytes for each point and neighbour while the label graph is made, and of the finished graph; measured.
GRAPH_BUILD_BYTES, GRAPH_BYTES = 42, 17
# Arrays (N, dim) of float32 alive at once in SVP, and in the regression besides the graph.
SVP_ARRAYS, REGRESSION_ARRAYS = 6, 3
# Arrays (features, dim) of conjugate gradients.
CG_ARRAYS = 6
# For each entry of a cluster's rows: the rows, their columns numbered anew, the half of them that teaches, and its
# transpose.
ROW_BYTES = 20
# Clusters are made smaller by such steps until they fit, and are not split into smaller ones than this.
SPLIT_STEP, MIN_POINTS_TO_SPLIT = 0.9, 200
# More clusters are not advised where they would have fewer points than this.
MIN_POINTS_TO_ADVISE = 5


@dataclass(frozen=True)
class Machine:
    """What training may use: so many cores, and so many bytes in all, None: as many as there are."""

    jobs: int
    memory: int | None = None

    @property
    def side_by_side(self) -> bool:
        """Whether two large steps may run at once: there are cores for both, and no limit of memory to keep."""
        return self.jobs > 1 and self.memory is None

    def room(self) -> int | None:
        """Return the bytes left for clusters at work; None: no limit."""
        return None if self.memory is None else self.memory - memory.in_use()


@dataclass(frozen=True)
class Wave:
    """Some of the tasks, by their places, to be run so many at once on so many threads each."""

    tasks: list[int]
    at_once: int
    threads: int


def cluster_bytes(points: int, entries: int, features: int, settings: SVPSettings) -> int:
    """Return about how many bytes a cluster's training needs at its peak, beyond the rows themselves.

    Of the features only as many count as the cluster can have.
    """
    dim, neighbours = int(settings.dim), min(int(settings.neighbours), points)
    features = max(1, min(features, entries))
    pairs, block = points * neighbours, 4 * points * dim
    factor = {"primal": 8 * features**2, "dual": 8 * points**2, "cg": 4 * CG_ARRAYS * features * dim}
    solver = cheapest_solver_for(points, features, entries, True, dim)
    return max(
        GRAPH_BUILD_BYTES * pairs,
        GRAPH_BYTES * pairs + SVP_ARRAYS * block,
        GRAPH_BYTES * pairs + REGRESSION_ARRAYS * block + factor[solver],
    )


def row_bytes(entries: int) -> int:
    """Return how many bytes a cluster's rows take while it is trained, where all rows are in files."""
    return ROW_BYTES * entries


def largest_that_fits(
    points: int, entries_per_point: float, features: int, settings: SVPSettings, room: int
) -> int | None:
    """Return how many points a cluster may have, `points` at most, for its training from files to fit into the room.

    None where not even a small one does.
    """
    while points >= MIN_POINTS_TO_SPLIT:
        entries = int(entries_per_point * points)
        if cluster_bytes(points, entries, features, settings) + row_bytes(entries) <= room:
            return points
        points = int(SPLIT_STEP * points)
    return None


def kept_bytes(points: int, entries: int, features: int, settings: SVPSettings) -> int:
    """Return how many bytes of a trained cluster stay: its points, and its regressors."""
    return 4 * int(settings.dim) * (points + max(1, min(features, entries)))


def no_room(work: str, needed: int, room: int, limit: int, *other_ways: str) -> ParameterError:
    """Return the error for work that needs more bytes than the `room` that is left of the limit.

    It says how much to allow at least, and in which other ways the work could be done.
    """
    at_least = f"{-(-(limit - room + needed) // 2**20)}MB"  # rounded up, as max_memory takes it
    return ParameterError(
        f"{work} needs about {format_bytes(needed)}, and max_memory leaves {format_bytes(max(room, 0))} for it: the "
        f"process takes {format_bytes(limit - room)} without it, and {format_bytes(limit)} are allowed; "
        + ", or ".join([f"allow at least {at_least} (--max-memory {at_least})", *other_ways])
    )


def plan(
    sizes: Sequence[int], needs: Sequence[int], jobs: int, room: int | None, limit: int | None = None
) -> list[Wave]:
    """Return the waves of tasks of these sizes (points) and needs (bytes), the largest first, within `room` bytes.

    The room is what is left of `limit` bytes (None: all of them), for the error where the room is too small.
    """
    order = sorted(range(len(sizes)), key=lambda task: -sizes[task])
    if room is not None and order and max(needs) > room:
        largest = max(order, key=lambda task: needs[task])
        needed = -(-sum(sizes) * needs[largest] // max(1, sizes[largest] * max(room, 1)))
        fewer = needed * MIN_POINTS_TO_ADVISE <= sum(sizes)
        advice = [f"set n_clusters to {needed} or more (--n-clusters {needed})"] if fewer else []
        work = f"a cluster of {sizes[largest]} points"
        raise no_room(work, needs[largest], room, room if limit is None else limit, *advice)
    share = sum(sizes) / (2 * jobs)
    alone = [task for task in order if sizes[task] > share] if jobs > 1 else []
    rest = [task for task in order if task not in set(alone)]
    waves = [Wave([task], 1, jobs) for task in alone]
    if rest:
        at_once = min(jobs, len(rest))
        if room is not None:
            at_once = max(1, min(at_once, room // max(needs[task] for task in rest)))
        waves.append(Wave(rest, at_once, max(1, jobs // at_once)))
    return waves
