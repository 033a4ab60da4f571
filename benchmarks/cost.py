"""What each step costs: operations and bytes counted, seconds measured, beside what the machine can do in the same run.

    python benchmarks/cost.py [eurlex4k-partial yso-finna-en-100k synthetic-178k] [--threads 2] [--write]

Steps run as in training and prediction, on all threads; a step of under ten seconds runs three times, and the quickest
run counts. --write replaces benchmarks/results/cost.json and the tables of docs/performance.md, which explains them.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from unittest import mock

import numpy as np
import pages
from numba import njit
from peer_run import Timer, busy, forget_peak, memory
from run import machine
from votes import vote_preset

from neartag.core import threads
from neartag.core.errors import DataError
from neartag.core.threads import available_cores, run_ranges, single_threaded_blas
from neartag.data import registry, synthetic
from neartag.linalg import cholesky as factor
from neartag.linalg import conjugate_gradients, product_kernels
from neartag.linalg.products import matmul_rows
from neartag.linalg.rows import as_rows, compact, csr_arrays, normalise, select_columns, used_columns
from neartag.search import topk_kernels
from neartag.search.exact import QUERY_TILE, nearest
from neartag.search.inverted_index import PRUNE, RESCORED_PER_NEIGHBOUR, FeatureIndex
from neartag.search.weights import voter_weights
from neartag.x1 import kmeans as partition
from neartag.x1 import label_graph as neighbours
from neartag.x1 import regression as admm
from neartag.x1 import svp
from neartag.x1.cluster_training import train_cluster
from neartag.x1.embedding import embed
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.schedule import cluster_bytes
from neartag.x1.settings import SVPSettings, X1Settings
from neartag.x1.vote import vote

SYNTHETIC = "synthetic-178k"
NAMES = ("eurlex4k-partial", "yso-finna-en-100k", SYNTHETIC)
# All points are in one cluster, so that n alone differs. Partitions are measured apart, into so many clusters.
PARTITIONS = {"yso-finna-en-100k": (16,), SYNTHETIC: (2, 29, 64)}
SETTINGS = {SYNTHETIC: {"n_clusters": 1, "embedding_dim": 50}}
VOTERS, MAX_QUERIES = 20, 10_000
LONG = 10.0  # seconds from which one run is enough
# Bytes of a number, and of an entry of a sparse matrix: its column and its value.
NUMBER, ENTRY = 4, 8


@dataclass(frozen=True)
class Cost:
    """Floating-point operations, bytes moved, and how many numbers were added to places that a list leads to."""

    flops: float = 0.0
    moved: float = 0.0
    added: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.moved + other.moved, self.added + other.added)

    def __mul__(self, times: float) -> Cost:
        return Cost(self.flops * times, self.moved * times, self.added * times)


# The formulae.


def assigning(entries: int, clusters: int) -> Cost:
    """Each point to the nearest centroid: for each of its features a row of the (d, C) table."""
    return Cost(2 * entries * clusters, entries * (ENTRY + NUMBER * clusters))


def draws(clusters: int) -> int:
    """Points of which k-means++ takes the best for each start."""
    return 2 + int(np.log(clusters))


def starting(entries: int, n: int, clusters: int) -> Cost:
    """k-means++ on a part of n points that have so many entries: distances to the points drawn, for each start."""
    among = entries * min(n, max(partition.MIN_POOL, partition.POOL_PER_START * clusters)) / n
    return assigning(among, draws(clusters)) * (clusters - 1)


def averaging(entries: int) -> Cost:
    """Centroids: each entry added to that of its point's cluster, and X turned for it."""
    return Cost(2 * entries, 3 * ENTRY * entries)


def pairs_of(label_points: np.ndarray) -> float:
    """Pairs of points with a label in common, once for each such label; each point with itself is one of them."""
    return float(np.square(label_points, dtype=np.float64).sum())


def comparing(pairs: float, wanted: int, grouped: int) -> Cost:
    """Label neighbours: who is met, through a label or a group, is added to, scaled, sized up, looked at, cleared."""
    met = pairs + grouped
    return Cost(pairs, 6 * NUMBER * met + ENTRY * wanted, 5 * met)


def joining(wanted: int, pairs: int) -> Cost:
    """Ω ∪ Ωᵀ: valid ones taken out, turned twice, read twice side by side, and the graph written."""
    return Cost(0, ENTRY * (2 * wanted + 4 * wanted + 4 * wanted + pairs))


def ordering(pairs: int) -> Cost:
    """Reverse Cuthill–McKee reads all neighbours' numbers; then rows are moved and their columns renamed."""
    return Cost(0, pairs * (NUMBER + 2 * ENTRY + 3 * NUMBER))


def first_product(pairs: int, n: int, dim: int) -> Cost:
    """G times random directions, made orthonormal twice."""
    return Cost(2 * pairs * dim + 8 * n * dim**2, pairs * (ENTRY + NUMBER * dim) + 6 * NUMBER * n * dim)


def residual_product(pairs: int, n: int, dim: int) -> Cost:
    """R·U, R made on the way: for each pair a dot product and an update, with one row fetched for both."""
    return Cost(4 * pairs * dim, pairs * (ENTRY + NUMBER * dim) + 2 * NUMBER * n * dim)


def dense_products(n: int, dim: int) -> Cost:
    """What else a step does with n rows: UᵀRU, E = RU − U·UᵀRU, EᵀE, and two products for the new U."""
    return Cost(5 * 2 * n * dim**2, 8 * NUMBER * n * dim)


def eigenvectors(size: int) -> Cost:
    """All in float64: to three diagonals (half of it matrix times vector), divide and conquer, and back."""
    return Cost(14 / 3 * size**3, 4 / 3 * size**3)


def feature_products(lengths: np.ndarray, d: int) -> Cost:
    """XᵀX below the diagonal: each pair of a point's features, summed in float64."""
    pairs = float((lengths * (lengths + 1.0) / 2).sum())
    return Cost(2 * pairs, (ENTRY + 16) * pairs + NUMBER * d**2 / 2, pairs)


def factoring(d: int) -> Cost:
    """A Cholesky factor: for each block of columns what is left is read and written once."""
    return Cost(d**3 / 3, 2 * NUMBER * d**3 / (6 * factor.BLOCK_COLUMNS))


def solving(d: int, dim: int) -> Cost:
    """Forward and back with the factor, which is read twice for each piece of the columns."""
    return Cost(2 * d**2 * dim, max(1, min(threads.MAX_PIECES, dim // factor.MIN_SOLVED_COLUMNS)) * NUMBER * d**2)


def gradient_pieces(dim: int) -> int:
    """Pieces that conjugate gradients cut the columns into."""
    return max(1, min(threads.MAX_PIECES, dim // conjugate_gradients.MIN_COLUMNS))


def gradient_products(entries: int, dim: int) -> Cost:
    """A step's X·W and Xᵀ·(X·W): a row for each entry, and X itself once for each piece of the columns."""
    return Cost(4 * entries * dim, 2 * entries * (ENTRY * gradient_pieces(dim) + NUMBER * dim))


def gradient_vectors(d: int, dim: int) -> Cost:
    """The rest of a step: blocks (d, dim) read or written 28 times, for 14 operations an entry."""
    return Cost(14 * d * dim, 28 * NUMBER * d * dim)


def embedding(entries: int, n: int, dim: int) -> Cost:
    """X·W: a row of W for each entry."""
    return Cost(2 * entries * dim, entries * (ENTRY + NUMBER * dim) + NUMBER * n * dim)


def searching(queries: int, n: int, dim: int) -> Cost:
    """Every query with every point; points are read once a block of queries, similarities written and read."""
    return Cost(2 * queries * n * dim, -(-queries // QUERY_TILE) * NUMBER * n * dim + 2 * NUMBER * queries * n)


def list_entries(X, lengths: np.ndarray, rescoring: int, skip: float = PRUNE) -> np.ndarray:
    """Entries of features' lists gone through for each query, by the rule of `inverted_index_kernels.sparse_top`."""
    taken = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        each, squares = lengths[X.indices[part]], np.square(X.data[part], dtype=np.float64)
        taken[i] = each.sum()
        if skip > 0 and taken[i] > 2 * rescoring:
            order = np.argsort(squares / np.maximum(each, 1))
            left_out = order[np.cumsum(squares[order]) <= skip**2 * squares.sum()]
            first_look = taken[i] - each[left_out].sum() + rescoring
            taken[i] = first_look if 2 * first_look <= taken[i] else taken[i]
    return taken


def looking_up(taken: np.ndarray, n: int) -> Cost:
    """Feature vote: each entry adds to its row's score; if there are many, all n are looked over and cleared."""
    added = float(taken.sum())
    return Cost(2 * added, (ENTRY + 2 * NUMBER) * added + 2 * NUMBER * n * int((4 * taken >= n).sum()), added)


def voting(labels: int) -> Cost:
    """Each label of each voter adds to a score in float64."""
    return Cost(labels, (NUMBER + 16) * labels, labels)


# The machine's peaks, a second.


@njit(nogil=True)
def _touch(table, rows, out, start, stop):
    """Fetch rows: one number of each 64 bytes, a whole one, so that nothing but fetching takes time."""
    total = 0
    for k in range(start, stop):
        for c in range(0, table.shape[1], 16):
            total += table[rows[k], c]
    out[0] = total


@njit(nogil=True)
def _add(places, values, score, start, stop):
    for k in range(start, stop):
        score[places[k]] += values[k]


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def quickest(work: Callable[[], object], repeat: int = 8) -> float:
    return min(timed(work)[0] for _ in range(repeat))


@cache
def arithmetic_peak(cores: int) -> float:
    """Operations of a float32 matrix product."""
    size, random = 2048, np.random.default_rng(0)
    tall, square = random.random((4 * size, size), np.float32), random.random((size, size), np.float32)
    with single_threaded_blas():
        return 2 * 4 * size**3 / quickest(lambda: matmul_rows(tall, square, cores))


@cache
def copy_peak(cores: int) -> float:
    """Bytes read and written in order."""
    source, target = np.ones((2, 1 << 27), np.float32)

    def part(start: int, stop: int) -> None:
        np.copyto(target[start:stop], source[start:stop])

    return 2 * source.nbytes / quickest(lambda: run_ranges(part, len(source), cores))


@cache
def fetch_peak(rows: int, width: int, cores: int, ordered: bool = False) -> float:
    """Bytes of rows fetched from a table of that shape, at random or one after the other."""
    count = max(rows, (1 << 30) // (NUMBER * width))
    places = np.arange(count) % rows if ordered else np.random.default_rng(0).integers(0, rows, count)
    arguments = np.ones((rows, width), np.int32), places.astype(np.int32), np.empty(1, np.int64)
    _touch(*arguments, 0, 1)
    return count * NUMBER * width / quickest(lambda: run_ranges(_touch, count, cores, *arguments), 3)


@cache
def add_peak(size: int, cores: int) -> float:
    """Numbers added at random places of a table of that size, each thread to a table of its own."""
    count = 1 << 24
    places, ones = np.random.default_rng(0).integers(0, size, count, dtype=np.int32), np.ones(count, np.float32)

    def part(start: int, stop: int) -> None:
        _add(places, ones, np.zeros(size, np.float32), start, stop)

    part(0, 1)
    return count / quickest(lambda: run_ranges(part, count, cores), 3)


def machine_peaks(cores: int) -> dict[str, list[float]]:
    """What one core reaches and what all do."""
    kinds = {
        "float32 matrix product, GFLOP/s": arithmetic_peak,
        "copying, bytes read and written, GB/s": copy_peak,
        "reading in order, GB/s": lambda each: fetch_peak(1_300_000, 100, each, True),
        "fetching rows of 400 bytes at random out of 520 MB, GB/s": lambda each: fetch_peak(1_300_000, 100, each),
        "adding at random places of 100,000 numbers, 10⁹/s": lambda each: add_peak(100_000, each),
    }
    return {name: [peak(each) / 1e9 for each in (1, cores)] for name, peak in kinds.items()}


# The steps.


@contextmanager
def watch(owner: object, *names: str, note: Callable = lambda *_: None) -> Iterator[dict[str, list]]:
    """Keep of every call of these functions its seconds, and what `note` makes of its result and arguments."""
    calls: dict[str, list] = {name: [] for name in names}

    def watched(name: str, function: Callable) -> Callable:
        def call(*arguments, **options):
            seconds, result = timed(lambda: function(*arguments, **options))
            calls[name].append((seconds, note(result, *arguments)))
            return result

        return call

    with ExitStack() as stack:
        for name in names:
            stack.enter_context(mock.patch.object(owner, name, watched(name, getattr(owner, name))))
        yield calls


def spent(calls: list) -> float:
    return sum(seconds for seconds, _ in calls)


def best(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds and result of the quickest of three runs, of one run where that takes long."""
    gc.collect()
    found = timed(work)
    for _ in range(2 if found[0] < LONG else 0):
        found = min(found, timed(work), key=lambda run: run[0])
    return found


class Steps:
    """Measures the steps on one data set; each part of one becomes a row of the table."""

    def __init__(self, cores: int) -> None:
        self.cores, self.rows = cores, []
        self.facts: dict[str, float | str] = {}

    def add(
        self, step: str, seconds: float, cost: Cost, bound: str, peak: float | None = None, times: float = 1
    ) -> None:
        """Keep a row, of all that was done so many times what once takes."""
        if peak is None:
            peak = {"arithmetic": arithmetic_peak, "copying": copy_peak}[bound](self.cores)
        work = {"arithmetic": cost.flops, "adding": cost.added}.get(bound, cost.moved)
        row = {"step": step, "seconds": seconds / times, **asdict(cost * (1 / times))}
        row["share of arithmetic"] = cost.flops / seconds / arithmetic_peak(self.cores)
        self.rows.append({**row, "bound": bound, "peak": peak, "share": work / seconds / peak})
        print(line(self.rows[-1]), flush=True)

    def cut(self, X, count: int) -> None:
        """k-means: starts, rounds of assigning and averaging; where clusters are many, in both stages."""

        def noted(_, rows, other, *rest) -> tuple[int, int, int]:  # of clusters how many there are or are wanted
            return getattr(rows, "nnz", rows.size), rows.shape[0], getattr(other, "shape", (other,))[-1]

        def run() -> dict:
            steps = "_choose_starts", "route", "find_centroids", "sparse_centroids"
            with watch(partition, *steps, note=noted) as calls:
                partition.partition(X, count, threads=self.cores)
            return calls

        _, calls = best(run)
        starts, routes, *averages = calls.values()
        means = [call for each in averages for call in each]
        cost = sum((starting(*about) for _, about in starts), Cost())
        peak = fetch_peak(X.shape[1], max(draws(clusters) for _, (*_, clusters) in starts), self.cores)
        self.add(f"partition into {count}: starts", spent(starts), cost, "fetching", peak)
        cost = sum((assigning(entries, clusters) for _, (entries, _, clusters) in routes), Cost())
        peak = fetch_peak(X.shape[1], max(clusters for _, (*_, clusters) in routes), self.cores)
        self.add(f"partition into {count}: assigning", spent(routes), cost, "fetching", peak)
        cost = sum((averaging(entries) for _, (entries, *_) in means), Cost())
        self.add(f"partition into {count}: means", spent(means), cost, "copying")

    def graph(self, Y, count: int):
        """Ω with the label similarities on it."""

        def run():
            with watch(
                neighbours, "label_neighbours", "_split_off_frequent", note=lambda result, *_: result[0]
            ) as calls:
                return neighbours.neighbour_graph(Y, count, threads=self.cores), calls

        seconds, (graph, calls) = best(run)
        n, compared = Y.shape[0], spent(calls["label_neighbours"])
        rare = calls["_split_off_frequent"][0][1]
        pairs, every = pairs_of(np.bincount(rare.indices)), pairs_of(np.bincount(Y.indices))
        cost = comparing(pairs, n * count, n * count if rare.nnz < Y.nnz else 0)
        self.add("label graph: neighbours", compared, cost, "adding", add_peak(n, self.cores))
        self.add("label graph: union", seconds - compared, joining(n * count, graph.nnz), "copying")
        self.facts |= {"Ω": graph.nnz, "pairs compared": pairs, "pairs without groups": every}
        return graph

    def embed_labels(self, graph, settings: SVPSettings) -> np.ndarray:
        """SVP: the points' order, the start, and the three parts of a step."""
        n, dim = graph.shape[0], settings.dim
        options = {"step": settings.step, "max_iter": settings.max_iter, "tol": settings.tol}

        def run():
            parts = "_initial_embedding", "_tangent_step", "_whitening", "_ritz"
            with watch(svp, *parts) as calls, watch(svp._Pattern, "residual_times") as products:
                return svp.svp(graph, dim, **options, threads=self.cores), calls | products

        seconds, (found, calls) = best(run)
        start, tangent, whitening, ritz, products = calls.values()
        steps, eigen = len(tangent), spent(whitening[-len(tangent) :]) + spent(ritz)  # the start whitens too
        rest = seconds - spent(start) - spent(tangent) - spent(products)
        self.add("SVP: order", rest, ordering(graph.nnz), "copying")
        self.add(
            "SVP: start", spent(start), first_product(graph.nnz, n, dim), "fetching", fetch_peak(n, dim, self.cores)
        )
        cost = residual_product(graph.nnz, n, dim) * len(products)
        peak = fetch_peak(n, dim, self.cores)
        self.add("SVP: R·U, a step", spent(products), cost, "fetching", peak, len(products))
        cost = dense_products(n, dim) * steps
        self.add("SVP: dense products, a step", spent(tangent) - eigen, cost, "arithmetic", times=steps)
        cost = (eigenvectors(dim) + eigenvectors(2 * dim)) * steps
        self.add("SVP: eigenvectors, a step", eigen, cost, "arithmetic", times=steps)
        self.facts["SVP steps"] = steps
        return found.points

    def regress(self, X, Z: np.ndarray, l2: float) -> np.ndarray:
        """The regressors, by the solver that is chosen."""
        (n, d), dim = X.shape, Z.shape[1]

        def multiplied(_, rows, block, *rest) -> int:
            return getattr(rows, "nnz", 0) * getattr(block, "shape", (0,))[-1]

        def run():
            with (
                watch(admm, "gram", "cholesky", "cholesky_solve") as calls,
                watch(conjugate_gradients, "matmul", note=multiplied) as products,
            ):
                return admm.admm(X, Z, l2=l2, threads=self.cores), calls | products

        seconds, (found, calls) = best(run)
        solver = self.facts["solver"] = admm.cheapest_solver(X, dim)
        name = f"regression ({solver})"
        if solver == "cg":
            pieces = gradient_pieces(dim)
            # Pieces of columns end at steps of their own: so many on average.
            steps = sum(each for _, each in calls["matmul"]) / (2 * X.nnz * dim)
            products = spent(calls["matmul"]) / min(self.cores, pieces)
            peak = fetch_peak(max(n, d), dim // pieces, self.cores)
            cost = gradient_products(X.nnz, dim) * steps
            self.add(f"{name}: products, a step", products, cost, "fetching", peak, steps)
            cost = gradient_vectors(d, dim) * steps
            self.add(f"{name}: vectors, a step", seconds - products, cost, "copying", times=steps)
            self.facts["CG steps"] = steps
            return found.weights
        size, sparse = (d, X) if solver == "primal" else (n, X.T.tocsr())
        cost, peak = feature_products(np.diff(sparse.indptr), size), add_peak(size, self.cores)
        self.add(f"{name}: Gram matrix", spent(calls["gram"]), cost, "adding", peak)
        self.add(f"{name}: factor", spent(calls["cholesky"]), factoring(size), "arithmetic")
        self.add(f"{name}: solve", spent(calls["cholesky_solve"]), solving(size, dim), "arithmetic")
        return found.weights

    def embed(self, X, weights: np.ndarray) -> np.ndarray:
        """The training points by their features."""
        seconds, embedded = best(lambda: embed(X, weights, threads=self.cores))
        peak = fetch_peak(*weights.shape, self.cores)
        self.add("embedding", seconds, embedding(X.nnz, X.shape[0], weights.shape[1]), "fetching", peak)
        return normalise(embedded)

    def search(self, queries: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest points in the embedding, for many queries at once and for one."""
        (n, dim), m, cores = points.shape, queries.shape[0], self.cores

        def run():
            with watch(topk_kernels, "row_top") as calls:
                return nearest(queries, points, VOTERS, cores), spent(calls["row_top"]) / cores

        seconds, (found, choosing) = best(run)
        self.add(
            "search: products, 1,000 queries", seconds - choosing, searching(m, n, dim), "arithmetic", times=m / 1000
        )
        peak = fetch_peak(256, 2048, cores, True)
        cost = Cost(moved=NUMBER * m * n)
        self.add("search: choosing, 1,000 queries", choosing, cost, "reading", peak, m / 1000)
        out = np.empty(n, np.float32)
        seconds = quickest(lambda: product_kernels.dense_times_vector(points, queries[0], out, 0, n), 20)
        cost = Cost(2 * n * dim, NUMBER * n * dim)
        self.add("search: one query alone, one core", seconds, cost, "reading", fetch_peak(n, dim, 1, True))
        return found

    def look_up(self, X, queries) -> tuple[np.ndarray, np.ndarray]:
        """The nearest points by features."""
        n, m = X.shape[0], queries.shape[0]
        index = FeatureIndex.from_rows(X)
        lengths, rescoring = np.diff(index.postings.indptr), RESCORED_PER_NEIGHBOUR * VOTERS * (X.nnz // n)
        taken, every = (list_entries(queries, lengths, rescoring, skip) for skip in (PRUNE, 0.0))
        seconds, found = best(lambda: index.find(queries, VOTERS, self.cores))
        peak = add_peak(n, self.cores)
        self.add("feature vote, 1,000 queries", seconds, looking_up(taken, n), "adding", peak, m / 1000)
        self.facts |= {"list entries a query": taken.mean(), "all of them": every.mean()}
        return found

    def vote(self, Y, lists: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """The labels of those found."""
        voters = np.hstack([ids for ids, _ in lists])
        weights = np.hstack([voter_weights(near) for _, near in lists])
        frequency = np.bincount(Y.indices, minlength=Y.shape[1])
        arguments = csr_arrays(Y), (voters, weights), frequency
        seconds, _ = best(lambda: vote(*arguments, 5, self.cores))
        labels = int(np.diff(Y.indptr)[voters[(voters >= 0) & (weights > 0)]].sum())
        peak = add_peak(Y.shape[1], self.cores)
        self.add("vote, 1,000 queries", seconds, voting(labels), "adding", peak, len(voters) / 1000)


def load(name: str):
    """Unit rows and labels to train on, unit rows to ask about, and the settings."""
    if name == SYNTHETIC:
        made = synthetic.make(178_000, 162_000, 32_500, 42, 3.2)
        X = normalise(as_rows(made.X))
        return X, made.Y, X[:MAX_QUERIES], settings_of(name, X)
    train, test = registry.load(name, "train"), registry.load(name, "test")
    queries = normalise(as_rows(test.X))[:MAX_QUERIES]
    return normalise(as_rows(train.X)), train.Y, queries, settings_of(name, train.X)


def settings_of(name: str, X) -> X1Settings:
    """The preset's settings where there is one, those of SETTINGS, and what X1 chooses itself, for votes alone."""
    given = {**(vote_preset(name) if name == "eurlex4k-partial" else {}), **SETTINGS.get(name, {}), "refine": False}
    return resolve(X1Settings.from_parameters(given), DataFacts.of(X))


def measure(name: str, cores: int) -> dict:
    """All steps on one data set: first training as a whole, then each by itself."""
    X, Y, queries, settings = load(name)
    steps, n = Steps(cores), X.shape[0]
    gc.collect()
    before = memory("VmRSS")
    forget_peak()
    seconds, _ = timed(lambda: train_cluster(X, Y, np.arange(n), settings, 0, cores))
    peak = memory("VmHWM") - before
    print(f"\n{name}: training {seconds:.1f} s\n{HEAD}", flush=True)
    own, features = used_columns(X)
    rows = compact(own)
    with single_threaded_blas():
        for count in PARTITIONS.get(name, ()):
            steps.cut(X, count)
        graph = steps.graph(Y, settings.svp.neighbours)
        weights = steps.regress(rows, steps.embed_labels(graph, settings.svp), settings.regression.l2)
        points = steps.embed(rows, weights)
        asked = normalise(embed(select_columns(queries, features), weights, threads=cores))
        steps.vote(Y, [steps.search(asked, points), steps.look_up(X, queries)])
    facts = {"n": n, "d": X.shape[1], "features a point": X.nnz / n, "L": Y.shape[1], "labels a point": Y.nnz / n}
    facts |= {"L̂": settings.svp.dim, "n̄": settings.svp.neighbours, **steps.facts}
    formula = cluster_bytes(n, X.nnz, X.shape[1], settings.svp) / 1e6
    facts |= {"training s": seconds, "peak MB measured": peak, "peak MB by formula": formula}
    return {"data": name, **facts, "rows": steps.rows}


HEAD = """\
| step | ms | Gflop | GB | GFLOP/s (of the peak) | GB/s | held against | reaches |
|---|---|---|---|---|---|---|---|"""


def digits(value: float) -> str:
    """Three digits that count, of large numbers all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def line(row: dict) -> str:
    """A row of a table of steps."""
    seconds, flops, moved = row["seconds"], row["flops"] / 1e9, row["moved"] / 1e9
    unit = {"arithmetic": "GFLOP/s", "adding": "·10⁹/s"}.get(row["bound"], "GB/s")
    speed = f"{digits(flops / seconds)} ({100 * row['share of arithmetic']:.1f}%)" if flops else "–"
    return (
        f"| {row['step']} | {digits(1000 * seconds)} | {digits(flops) if flops else '–'} | {digits(moved)} | {speed} | "
        f"{digits(moved / seconds)} | {row['bound']}, {digits(row['peak'] / 1e9)} {unit} | {100 * row['share']:.0f}% |"
    )


def about(found: dict) -> str:
    """A data set and what was counted on it, in words."""
    regression = f"solver {found['solver']}" + (f", {found['CG steps']:.0f} steps" if "CG steps" in found else "")
    pairs, every = (f"{found[name] / 1e6:,.0f}" for name in ("pairs compared", "pairs without groups"))
    return (
        f"**{found['data']}**: n = {found['n']:,}, d = {found['d']:,}, {found['features a point']:.1f} features and "
        f"{found['labels a point']:.1f} labels a point, L = {found['L']:,}, L̂ = {found['L̂']}, n̄ = {found['n̄']}. "
        f"|Ω| = {found['Ω'] / found['n']:.0f}·n; {pairs} million pairs compared, {every} without groups; "
        f"{found['SVP steps']} steps of SVP; {regression}; feature vote: {found['list entries a query']:,.0f} entries "
        f"a query instead of {found['all of them']:,.0f}. Training all points in one cluster takes "
        f"{found['training s']:.1f} s and at its peak {found['peak MB measured']:,.0f} MB, "
        f"{found['peak MB by formula']:,.0f} by the formula."
    )


def report(result: dict) -> str:
    """Everything as Markdown."""
    peaks = [f"| {name} | {one:.2f} | {every:.2f} |" for name, (one, every) in result["peaks"].items()]
    lines = [f"| what the machine can do | one core | {result['cores']} cores |", "|---|---|---|", *peaks]
    for found in result["sets"]:
        lines += ["", about(found), "", HEAD, *map(line, found["rows"])]
    others = f"other processes used {result['cores used by others']:.2f} cores meanwhile"
    return "\n".join([*lines, "", f"Measured on: {result['machine']}; {others}."])


def rounded(value: object) -> object:
    """Numbers with five digits that count, wherever they stand."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(given)
    result = {"machine": machine(), "cores": arguments.threads, "sets": []}
    busy_before = busy()
    with Timer() as timer:
        result["peaks"] = machine_peaks(arguments.threads)
        for name in arguments.names:
            try:
                result["sets"].append(measure(name, arguments.threads))
            except DataError as error:
                print(f"{name}: left out: {error}")
    result["cores used by others"] = max(0.0, busy() - busy_before - timer.cpu) / timer.wall
    result = rounded(result)
    print(f"\n{report(result)}")
    if arguments.write:
        pages.keep("cost", result)
        pages.insert("cost", report(result), pages.DOCS / "performance.md")


if __name__ == "__main__":
    main()
