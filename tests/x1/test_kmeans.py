"""The partition: k-means against a plain dense Lloyd, the cap on cluster sizes, and the routing of points."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.core.threads import single_threaded_blas
from neartag.data import synthetic
from neartag.linalg.rows import as_rows, normalise
from neartag.x1 import centroids as centroids_module
from neartag.x1 import kmeans as module
from neartag.x1.centroids import route
from neartag.x1.kmeans import partition


@pytest.fixture(autouse=True)
def held():
    """Hold BLAS to one thread, as all callers do."""
    with single_threaded_blas():
        yield


@cache
def text_rows(n=400, d=150, seed=0):
    """Return unit rows like those of texts, (n, d) CSR.

    Three features are in every row: rows that share none with two centroids would be equally far from both.
    """
    X = synthetic.make(n, d - 3, 30, 12, 2, seed=seed).X
    everywhere = 0.3 * np.random.default_rng(seed).random((n, 3))
    return normalise(csr_matrix(sparse.hstack([X, csr_matrix(everywhere)], format="csr"), dtype=np.float32))


def blobs(n=300, d=6, centres=5, seed=0, spread=0.3):
    """Return unit rows about a few centres, (n, d), and each one's centre."""
    random = np.random.default_rng(seed)
    which = random.integers(centres, size=n)
    middle = 3 * random.standard_normal((centres, d))
    return normalise((middle[which] + spread * random.standard_normal((n, d))).astype(np.float32)), which


def plain_lloyd(X, centroids):
    """Return the assignment after the documented rounds, by Euclidean distance in float64; centroids (C, d)."""
    assignment = np.full(len(X), -1)
    for _ in range(module.MAX_ROUNDS):
        distance = ((X[:, None, :] - centroids[None]) ** 2).sum(axis=2)  # (n, C)
        fresh = distance.argmin(axis=1)
        changed = (fresh != assignment).sum()
        assignment = fresh
        if changed <= module.SETTLED_SHARE * len(X):
            break
        centroids = np.stack(
            [X[assignment == c].mean(axis=0) if (assignment == c).any() else 0 * X[0] for c in range(len(centroids))]
        )
    return assignment


def same_partition(found, wanted):
    """Say whether two assignments put the same points together, whatever the clusters' numbers."""
    pairs = set(zip(found.tolist(), wanted.tolist(), strict=True))
    return len(pairs) == len(set(found.tolist())) == len(set(wanted.tolist()))


def objective(X, assignment):
    """Return the sum of squared distances to the clusters' means."""
    X = X.toarray() if sparse.issparse(X) else X
    return sum(((X[assignment == c] - X[assignment == c].mean(axis=0)) ** 2).sum() for c in np.unique(assignment))


# ---- k-means


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("clusters", [2, 7])
@pytest.mark.parametrize("start", ["k-means++", "random"])
def test_k_means_is_plain_lloyd_from_the_same_start(seed, clusters, start):
    for X in (blobs(seed=seed)[0], text_rows(seed=seed)):
        found = partition(X, clusters, start=start, seed=seed)
        random = np.random.default_rng(seed)
        n = X.shape[0]
        # The generator's first draws are the start.
        chosen = (
            module._draw_far_apart(X, clusters, random) if start == "k-means++" else random.choice(n, clusters, False)
        )
        dense = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
        assert same_partition(found.assignment, plain_lloyd(dense, dense[np.sort(chosen)]))


@pytest.mark.parametrize("rows", [blobs(seed=1)[0], text_rows(seed=1)], ids=["dense", "text"])
def test_centroids_are_the_means_of_their_points(rows):
    found = partition(rows, 6, seed=3)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    assert found.assignment.shape == (dense.shape[0],)
    assert found.centroids.shape == (dense.shape[1], found.n_clusters)
    for cluster in range(found.n_clusters):
        mine = dense[found.assignment == cluster]
        assert len(mine), "no cluster is empty"
        np.testing.assert_allclose(found.centroids[:, cluster], mine.mean(axis=0), atol=1e-6)


def test_dense_and_sparse_rows_give_the_same_partition():
    X = text_rows()
    dense, thin = partition(X.toarray(), 5, seed=2), partition(X, 5, seed=2)
    assert np.array_equal(dense.assignment, thin.assignment)
    np.testing.assert_allclose(dense.centroids, thin.centroids, atol=1e-6)


def test_threads_do_not_change_the_partition():
    X = text_rows()
    one, two = partition(X, 5, seed=2), partition(X, 5, seed=2, threads=2)
    assert one.assignment.tobytes() == two.assignment.tobytes()
    assert one.centroids.tobytes() == two.centroids.tobytes()


def test_the_seed_decides():
    X = text_rows()
    assert np.array_equal(partition(X, 5, seed=1).assignment, partition(X, 5, seed=1).assignment)
    assert not same_partition(partition(X, 5, seed=1).assignment, partition(X, 5, seed=2).assignment)


@pytest.mark.parametrize("seed", range(5))
def test_blobs_are_found(seed):
    X, which = blobs(seed=10, spread=0.05)
    assert same_partition(partition(X, 5, seed=seed).assignment, which)


def test_k_means_plus_plus_spreads_its_starts():
    # Nine tenths of the points lie together: random starts mostly fall there, spread ones in each of the three groups.
    random = np.random.default_rng(0)
    sizes = [180, 10, 10]
    X = np.repeat(np.eye(3), sizes, axis=0) + 1e-3 * random.standard_normal((200, 3))
    group = np.repeat([0, 1, 2], sizes)
    X = normalise(X.astype(np.float32))
    hits = sum(len(set(group[module._draw_far_apart(X, 3, np.random.default_rng(seed))])) == 3 for seed in range(100))
    assert hits == 100


def test_k_means_plus_plus_draws_by_squared_distance():
    # Two points at squared distances 1 and 3 from the first: drawn in the ratio 1 : 3. Of two draws the better start is
    # kept, which is the farther point here, so the nearer one is only chosen where both draws fall on it.
    X = np.array([[0, 0], [1, 0], [0, np.sqrt(3)]], np.float32)
    seconds = []
    for seed in range(3000):
        random = np.random.default_rng(seed)
        chosen = module._draw_far_apart(X, 2, random)
        if 0 in chosen and np.random.default_rng(seed).integers(3) == 0:
            seconds.append(chosen.max())
    share = np.mean(np.array(seconds) == 2)
    assert abs(share - (1 - 0.25**2)) < 0.03  # four standard deviations of some 1000 draws


def test_the_objective_is_hardly_worse_than_scikit_learns():
    from sklearn.cluster import KMeans

    X = text_rows()
    ours = [objective(X, partition(X, 8, seed=seed).assignment) for seed in range(6)]
    theirs = [KMeans(8, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(6)]
    assert np.mean(ours) < 1.02 * np.mean(theirs)
    # From the same start both run the same rounds. (Their own start tries several rows for each next one.)
    X, _ = blobs(centres=12)
    for seed in range(6):
        start = X[module._draw_far_apart(X, 8, np.random.default_rng(seed))]
        best = KMeans(8, init=start, n_init=1).fit(X).inertia_
        assert objective(X, partition(X, 8, seed=seed).assignment) < 1.001 * best


def test_a_start_that_is_not_known_is_refused():
    with pytest.raises(ParameterError, match=r"start.*'middle'"):
        partition(text_rows(), 3, start="middle")


# ---- sizes


@given(
    n=st.integers(1, 40),
    distinct=st.integers(1, 8),
    clusters=st.integers(1, 50),
    max_size=st.integers(1, 12),
    thin=st.booleans(),
    start=st.sampled_from(["k-means++", "random"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=120)
@example(n=40, distinct=1, clusters=1, max_size=3, thin=True, start="k-means++", seed=0)  # all alike
@example(n=3, distinct=3, clusters=50, max_size=2, thin=False, start="random", seed=0)  # fewer points than clusters
@example(n=40, distinct=2, clusters=2, max_size=1, thin=False, start="random", seed=0)
def test_no_cluster_exceeds_the_cap(n, distinct, clusters, max_size, thin, start, seed):
    random = np.random.default_rng(seed)
    kinds = random.random((distinct, 4)) * (random.random((distinct, 4)) < 0.6)  # rows of zeros among them
    X = normalise(kinds[random.integers(distinct, size=n)].astype(np.float32))
    found = partition(csr_matrix(X) if thin else X, clusters, max_size=max_size, start=start, seed=seed)
    sizes = np.bincount(found.assignment, minlength=found.n_clusters)
    assert sizes.sum() == n
    assert sizes.min() >= 1, "no cluster is empty"
    assert sizes.max() <= max_size
    assert len(sizes) == found.n_clusters == found.centroids.shape[1]
    assert np.isfinite(found.centroids).all()


def test_without_a_cap_there_are_as_many_clusters_as_asked_for_at_most():
    X = text_rows()
    for clusters in (1, 2, 9):
        assert partition(X, clusters).n_clusters <= clusters
    assert partition(X[:3], 10).n_clusters <= 3


def test_equal_points_stay_together_unless_the_cap_parts_them():
    X = normalise(np.repeat(np.eye(4, dtype=np.float32), 25, axis=0))
    found = partition(X, 4, seed=0)
    for group in range(4):
        assert len(set(found.assignment[25 * group : 25 * group + 25])) == 1
    assert partition(X, 4, seed=0, max_size=10).n_clusters == 12  # each 25 in three


def test_the_cap_does_not_break_what_is_small_enough():
    X, _ = blobs(n=200)
    free = partition(X, 5, seed=0)
    largest = int(np.bincount(free.assignment).max())
    assert np.array_equal(partition(X, 5, seed=0, max_size=largest).assignment, free.assignment)


# ---- routing


def distances(X, centroids):
    dense = [(m.toarray() if sparse.issparse(m) else m).astype(np.float64) for m in (X, centroids)]
    return ((dense[0][:, None, :] - dense[1].T[None]) ** 2).sum(axis=2)  # (n, C)


@cache
def eight_parts():
    return partition(text_rows(seed=1), 8, seed=1)


@pytest.mark.parametrize("probes", [1, 3, 8, 20])
@pytest.mark.parametrize("thin_rows", [False, True])
@pytest.mark.parametrize("thin_centroids", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_route_is_the_nearest_centroid(probes, thin_rows, thin_centroids, threads):
    X_new = text_rows(n=150, seed=2)
    centroids = eight_parts().centroids
    # Noise, so that no two centroids are equally far from a point.
    centroids = centroids + 0.02 * np.random.default_rng(0).random(centroids.shape).astype(np.float32)
    if thin_centroids:
        centroids = csr_matrix(np.where(centroids > 0.03, centroids, 0))
    rows = X_new if thin_rows else X_new.toarray()
    found = route(rows, centroids, probes, threads, block_rows=64)  # several blocks, the last one shorter
    exact = distances(X_new, centroids)
    wanted = np.argsort(exact, axis=1, kind="stable")[:, :probes]
    assert found.shape == (150, min(probes, 8))
    assert np.array_equal(found, wanted)


def test_training_points_are_routed_to_their_own_cluster():
    # k-means has settled here, so the rule that assigned the points gives their clusters again.
    X, _ = blobs(n=300, spread=0.1)
    found = partition(X, 5, seed=0)
    assert np.array_equal(route(X, found.centroids)[:, 0], found.assignment)


def test_one_cluster_takes_all():
    X = text_rows(n=50)
    found = partition(X, 1)
    assert route(X, found.centroids, 4).tolist() == [[0]] * 50


# ---- centroids


def test_as_many_entries_as_features_truncate_nothing():
    X = text_rows()
    whole, found = partition(X, 6, seed=1), partition(X, 6, seed=1, centroid_entries=X.shape[1])
    assert np.array_equal(whole.assignment, found.assignment)
    assert np.array_equal(whole.centroids, found.centroids)


@pytest.mark.parametrize("entries", [1, 10, 50])
def test_points_follow_truncated_centroids(entries):
    # What trains a cluster must be what is routed to it later, by the centroids that are kept.
    X = text_rows()
    found = partition(X, 6, seed=1, centroid_entries=entries)
    assert np.array_equal(found.assignment, route(X, found.centroids)[:, 0])
    assert (np.bincount(found.assignment, minlength=found.n_clusters) > 0).all()
    capped = partition(X, 6, seed=1, centroid_entries=entries, max_size=60)
    assert np.bincount(capped.assignment).max() <= 60


@pytest.mark.parametrize("entries", [1, 10, 50])
def test_truncated_centroids_keep_their_largest_entries(entries):
    whole = partition(text_rows(), 6, seed=1).centroids
    found = centroids_module._keep_largest_entries(whole, entries)
    assert isinstance(found, csr_matrix)
    dense = found.toarray()
    for cluster in range(6):
        column = whole[:, cluster]
        kept = np.flatnonzero(dense[:, cluster])
        assert len(kept) == min(entries, np.count_nonzero(column))
        assert np.array_equal(dense[kept, cluster], column[kept])
        rest = np.delete(column, kept)
        assert np.abs(rest).max(initial=0) <= np.abs(column[kept]).min()


def test_truncated_centroids_keep_no_more_where_entries_are_equal():
    # Points of ones have centroids of few different values; the number kept is what bounds the model's size.
    X = normalise(np.repeat(np.eye(2, dtype=np.float32), 10, axis=1).repeat(5, axis=0))  # (10, 20)
    found = partition(X, 2, seed=0, centroid_entries=4)
    assert (np.diff(found.centroids.tocsc().indptr) == 4).all()


# ---- many clusters, in two stages


def test_many_clusters_are_as_good_as_plain_k_means():
    X = normalise(as_rows(synthetic.make(6000, 3000, 400, 30, 2, topics=60).X))

    def spread(found):  # mean squared distance to the own centroid
        means = centroids_module.find_centroids(X, found.assignment, found.n_clusters)
        own = np.asarray(X.multiply(csr_matrix(means.T)[found.assignment]).sum(axis=1)).ravel()
        return float(np.mean(1 - 2 * own + (means**2).sum(axis=0)[found.assignment]))

    staged = partition(X, 64, seed=1)
    plain = partition(X, 64, seed=1, max_flat=64)
    assert abs(staged.n_clusters - 64) <= 6
    assert spread(staged) < 1.02 * spread(plain)


def test_many_clusters_of_points_all_alike():
    X = csr_matrix(np.ones((300, 4), np.float32) / 2)
    assert partition(X, 100).n_clusters == 1
    assert partition(X, 100, max_size=10).n_clusters == 30


def test_many_clusters_of_points_that_groups_hardly_divide(monkeypatch):
    # No two share a feature: each group has its start and nothing else, but for one that has all the others.
    stages = []
    whole = module._two_stage_k_means

    def counted(X, count, options):
        stages.append(count)
        return whole(X, count, options)

    monkeypatch.setattr(module, "_two_stage_k_means", counted)
    found = partition(csr_matrix(sparse.identity(600, dtype=np.float32)), 300, max_flat=4)
    assert len(stages) <= np.log2(300 / 4) + 1
    assert found.n_clusters >= 300


def test_rounds_on_a_sample_place_all_points():
    X = normalise(as_rows(synthetic.make(3000, 500, 40, 20, 2).X))
    whole = partition(X, 5)
    sampled = partition(X, 5, sample_per_cluster=100, min_sample=300)
    assert sampled.n_clusters == 5
    assert len(sampled.assignment) == 3000
    assert np.bincount(sampled.assignment).min() > 0
    own = [np.asarray(X.multiply(csr_matrix(p.centroids.T)[p.assignment]).sum(axis=1)).mean() for p in (whole, sampled)]
    assert own[1] > 0.9 * own[0], "points are about as near to their centroids"
