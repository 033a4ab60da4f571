"""X1Classifier: the paper's method behind scikit-learn's conventions. It only strings the steps together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from neartag.estimator import LabelClassifier, describe, shown
from neartag.parameters import MACHINE
from neartag.precision import round_to
from neartag.progress import Progress
from neartag.rows import Rows, as_rows, normalise
from neartag.threads import hold, resolve_jobs
from neartag.validation import check_training
from neartag.x1 import parameters, refine
from neartag.x1.admm import penalty_for
from neartag.x1.candidates import Voters
from neartag.x1.feature_vote import LOOSE, MOST_WORK, FeatureIndex
from neartag.x1.held_out import CHOICES, PART, SMALL, HeldOut, answers, choose, held_out_rows, left_to_us, voters
from neartag.x1.learner import Cluster, Learner, cluster_steps, cut, svp_steps, train_cluster
from neartag.x1.model import X1Model
from neartag.x1.partition import Partition, automatic
from neartag.x1.schedule import Machine, cluster_bytes, kept_bytes, plan


class X1Classifier(LabelClassifier):
    """Extreme multi-label classifier by local distance-preserving embeddings and a vote of nearest neighbours.

    Attributes
    ----------
    model_ : X1Model, the fitted ensemble; `neartag.store.save(model_, folder)` keeps it.
    n_features_in_, n_labels_ : the training data's numbers of features and labels.

    Parameters
    ----------
    """

    def __init__(
        self,
        n_learners: int | str = "auto",
        n_clusters: int | str = "auto",
        max_cluster_size: int | None = None,
        cluster_start: str = "k-means++",
        n_probe: int = 1,
        centroid_entries: int | None = None,
        embedding_dim: int | str = "auto",
        svp_neighbours: int = 100,
        label_similarity: str = "cosine",
        svp_step: float = 1.5,
        svp_max_iter: int | str = "auto",
        svp_tol: float = 1e-3,
        l2: float | str = "auto",
        l1: float = 0.0,
        rho: float = 1.0,
        admm_max_iter: int = 200,
        admm_tol: float = 1e-3,
        keep_weights: float = 1.0,
        precision: str = "float32",
        vote_neighbours: int | str = "auto",
        vote_distance: str = "cosine",
        vote_search: str = "auto",
        vote_weight: str = "similarity",
        vote_sharpness: float = 20.0,
        feature_share: float | str = "auto",
        feature_search: str = "auto",
        refine: bool = False,
        refine_candidates: int | str = "auto",
        refine_cost: float | str = "auto",
        refine_least: float = 0.05,
        threshold: float = 0.5,
        random_state: int | None = 0,
        n_jobs: int | None = -1,
        max_memory: int | str | None = None,
    ) -> None:
        self.n_learners = n_learners
        self.n_clusters = n_clusters
        self.max_cluster_size = max_cluster_size
        self.cluster_start = cluster_start
        self.n_probe = n_probe
        self.centroid_entries = centroid_entries
        self.embedding_dim = embedding_dim
        self.svp_neighbours = svp_neighbours
        self.label_similarity = label_similarity
        self.svp_step = svp_step
        self.svp_max_iter = svp_max_iter
        self.svp_tol = svp_tol
        self.l2 = l2
        self.l1 = l1
        self.rho = rho
        self.admm_max_iter = admm_max_iter
        self.admm_tol = admm_tol
        self.keep_weights = keep_weights
        self.precision = precision
        self.vote_neighbours = vote_neighbours
        self.vote_distance = vote_distance
        self.vote_search = vote_search
        self.vote_weight = vote_weight
        self.vote_sharpness = vote_sharpness
        self.feature_share = feature_share
        self.feature_search = feature_search
        self.refine = refine
        self.refine_candidates = refine_candidates
        self.refine_cost = refine_cost
        self.refine_least = refine_least
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory

    def fit(self, X: Any, Y: Any, *, progress: Progress | bool = False, held_out: bool = False) -> X1Classifier:
        """Learn from feature rows X (n, d) and their indicator rows Y (n, L); returns the classifier itself.

        `progress=True` shows a bar on a terminal and lines elsewhere. With `held_out` some points are kept out of
        training at first in any case, and `held_out_` has what they were answered then: the material of calibrated
        scores, None where there are too few points.
        """
        settings = parameters.checked(self.get_params())
        X, Y = check_training(X, Y, type(self).__name__)
        rows = normalise(as_rows(X))
        if settings["refine"] and not len(held_out_rows(rows.shape[0], 0, few=True)):
            warnings.warn(
                f"{rows.shape[0]} points are too few to refine, of which some must be held out: votes alone decide",
                UserWarning,
                stacklevel=2,
            )
            settings["refine"] = False
        settings.update(automatic(rows.shape[0], settings))
        settings["svp_max_iter"] = svp_steps(settings)
        settings["l2"] = penalty_for(rows, settings["l2"], settings["n_clusters"])
        machine = Machine(resolve_jobs(settings["n_jobs"]), settings["max_memory"])
        settings = {name: value for name, value in settings.items() if name not in MACHINE}
        progress = shown(progress)
        _warn_of_oddities(rows.shape[0], settings["n_clusters"], Y)
        # Held here as well as in each task: the thread that calls is the one that BLAS's limit obeys.
        with hold():
            model, self.held_out_ = _trained(rows, Y, settings, machine, progress, held_out)
        self._learned(model)
        return self

    def _fitted(self) -> X1Model:
        check_is_fitted(self, "model_")
        # What only prediction uses may be set after training, as in any scikit-learn estimator.
        changes = parameters.checked({name: getattr(self, name) for name in PREDICTION})
        # "auto" was settled in training.
        return self.model_.adjusted({name: value for name, value in changes.items() if value != "auto"})


X1Classifier.__doc__ = (X1Classifier.__doc__ or "").rstrip() + describe(parameters.PARAMETERS)

# Clusters of fewer points on average hold nobody to vote.
FEW_POINTS = 10

NOBODY = np.empty(0, np.int64)
# Up to so many points learners are trained again where only answers were asked for, and no choice was to be made.
SMALL_ENOUGH = 100_000
ANSWERS = 20  # labels kept of each held-out point's answer

PREDICTION = (
    "n_probe",
    "vote_neighbours",
    "vote_search",
    "vote_weight",
    "vote_sharpness",
    "feature_share",
    "feature_search",
    "threshold",
)


def _trained(
    rows: Rows, Y: csr_matrix, settings: dict[str, Any], machine: Machine, progress: Progress, ask: bool
) -> tuple[X1Model, HeldOut | None]:
    """Return the model, how it votes chosen on held-out points if left to us, and, if asked, their answers."""
    n = rows.shape[0]
    if settings["refine"]:
        settings.update(refine.automatic(rows, settings))
    elif settings["vote_search"] == "auto":
        settings["vote_search"] = "exact"
    names = left_to_us(settings)
    settings.update({name: CHOICES[name][0] for name in names})
    wanted = names or ask or settings["refine"]
    held = held_out_rows(n, settings["random_state"], few=settings["refine"]) if wanted else NOBODY
    answered = None
    again = len(held) > 0 and n <= (SMALL if names else SMALL_ENOUGH)
    if settings["refine"]:  # rankers are trained again on all points, and learners where they missed many
        again = len(held) > PART * n
    what = "trying on held-out points" if again else "training"
    learners = train(rows, Y, settings, machine, progress, held, what)
    if settings["vote_search"] == "cells":
        learners = [learner.celled(machine.jobs) for learner in learners]
    settings["n_learners"] = len(learners)
    index = FeatureIndex.of(rows) if settings["feature_share"] > 0 else None
    try_near = settings["feature_search"] == "auto" and settings["refine"]
    if settings["feature_search"] == "auto":
        settings["feature_search"] = "all"
    model = X1Model(settings, int(rows.shape[1]), Y, learners, index)
    if len(held):
        if names:
            settings.update(choose(model, rows, held, names, machine.jobs))
        if settings["feature_share"] == 0:
            model.index = None
        if ask or settings["refine"]:
            near, alike = voters(model, rows, held, machine.jobs)
        if settings["refine"]:
            listed = None
            if try_near and model.index is not None and model.index.work(rows[held], model.count, LOOSE) > MOST_WORK:
                _, listed = voters(
                    replace(model, settings={**settings, "feature_search": "near"}), rows, held, machine.jobs
                )
            learned = _refined(model, rows, held, near, alike, listed, machine, progress)
            settings.update(learned.settings)
            model.refinement = learned.refinement
            if ask:
                answered = HeldOut(
                    held, *refine.best(*learned.answers(machine.jobs), model.frequency, ANSWERS, machine.jobs)
                )
        elif ask:
            answered = answers(model, held, near, alike, ANSWERS, machine.jobs)
        if again:
            model.learners = train(rows, Y, settings, machine, progress)
        else:
            distance = settings["vote_distance"]
            model.learners = [learner.joined_by(rows[held], held, distance, machine.jobs) for learner in learners]
        if settings["vote_search"] == "cells":
            model.learners = [learner.celled(machine.jobs) for learner in model.learners]
    model.learners = [rounded(learner, settings["precision"]) for learner in model.learners]
    return model, answered


def _refined(
    model: X1Model,
    rows: Rows,
    held: np.ndarray,
    near: Voters,
    alike: Voters,
    listed: Voters | None,
    machine: Machine,
    progress: Progress,
) -> refine.Learned:
    with progress:
        progress.start(refine.STEPS, "refining")
        arguments = rows, model.Y, held, near, alike, listed, model.settings, machine.jobs
        return refine.learn(*arguments, progress.advance)


def rounded(learner: Learner, precision: str) -> Learner:
    """Return the learner with its weights and points as they will be after saving and loading."""
    clusters = [
        replace(cluster, weights=round_to(cluster.weights, precision), points=round_to(cluster.points, precision))
        for cluster in learner.clusters
    ]
    return Learner(learner.centroids, clusters)


def train(
    rows: Rows,
    Y: csr_matrix,
    settings: dict[str, Any],
    machine: Machine,
    progress: Progress,
    held: np.ndarray = NOBODY,
    what: str = "training",
) -> list[Learner]:
    """Return the trained learners: first all partitions, then all clusters of all learners side by side.

    The points `held` out help to place the clusters, but are members of none.
    """
    seeds = np.random.SeedSequence(settings["random_state"]).spawn(settings["n_learners"])
    partitions = cut_all(rows, settings, seeds, machine.jobs)
    members: dict[tuple[int, int], np.ndarray] = {}
    for number, found in enumerate(partitions):
        order = np.argsort(found.assignment, kind="stable")
        bounds = np.searchsorted(found.assignment[order], np.arange(found.n_clusters + 1))
        for cluster in range(found.n_clusters):
            everybody = order[bounds[cluster] : bounds[cluster + 1]]
            others = np.setdiff1d(everybody, held, assume_unique=True)
            # A cluster of none but held-out points must still have somebody; they do not join it again later.
            members[number, cluster] = others if len(others) else everybody
    tasks = list(members)
    sizes = [len(each) for each in members.values()]
    needs, kept = _needs(rows, sizes, settings)
    room = machine.room()
    waves = plan(sizes, needs, machine.jobs, None if room is None else room - kept)
    cluster_seeds = [int(seed.generate_state(1)[0]) for seed in seeds]
    # Steps inside a cluster can only be told where tasks share our memory, as threads do.
    shared = getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
    steps = cluster_steps(settings) if shared else 1
    trained: dict[tuple[int, int], Cluster] = {}
    with progress:
        progress.start(len(tasks) * steps, what)
        for wave in waves:
            work = (
                delayed(train_cluster)(
                    rows[members[task]],
                    Y[members[task]],
                    members[task],
                    settings,
                    cluster_seeds[task[0]] + task[1],
                    wave.threads,
                    progress.advance if shared else None,
                )
                for task in (tasks[place] for place in wave.tasks)
            )
            for place, fresh in zip(wave.tasks, _parallel(wave.at_once, work), strict=True):
                trained[tasks[place]] = fresh
                if not shared:
                    progress.advance(1)
    return [
        Learner(found.centroids, [trained[number, cluster] for cluster in range(found.n_clusters)])
        for number, found in enumerate(partitions)
    ]


def _parallel(at_once: int, work: Iterable[Any]) -> Iterable[Cluster]:
    """Return what the tasks give, one by one where joblib's backend can, in their order."""
    # Threads, unless the caller's joblib configuration says otherwise: kernels and BLAS release the GIL. No task is
    # prepared before there is a core for it, for each has its own copy of its rows.
    options = {"n_jobs": at_once, "prefer": "threads", "pre_dispatch": "n_jobs"}
    streams = getattr(get_active_backend(prefer="threads")[0], "supports_return_generator", True)
    return Parallel(**options, return_as="generator" if streams else "list")(work)


def _needs(rows: Rows, sizes: list[int], settings: dict[str, Any]) -> tuple[list[int], int]:
    """Return about how many bytes each cluster needs while it is trained, and how many stay of all of them."""
    n, d = rows.shape
    entries = rows.nnz / n if hasattr(rows, "nnz") else d
    shapes = [(size, int(entries * size), d, settings) for size in sizes]
    return [cluster_bytes(*shape) for shape in shapes], sum(kept_bytes(*shape) for shape in shapes)


def _warn_of_oddities(n: int, clusters: int, Y: csr_matrix) -> None:
    if Y.nnz == 0:
        warnings.warn("no training point has a label: nothing will ever be predicted", UserWarning, stacklevel=3)
    if clusters > 1 and n < FEW_POINTS * clusters:
        warnings.warn(
            f"n_clusters = {clusters} leaves fewer than {FEW_POINTS} of the {n} points to a cluster: choose fewer",
            UserWarning,
            stacklevel=3,
        )


def cut_all(rows: Rows, settings: dict[str, Any], seeds: list[np.random.SeedSequence], jobs: int) -> list[Partition]:
    """Return the partition of each learner; one only, with a warning, where all would be the same."""
    numbers = [int(seed.generate_state(2)[1]) for seed in seeds]
    first = cut(rows, settings, numbers[0], jobs)
    if len(seeds) > 1 and first.n_clusters == 1:
        warnings.warn(
            f"with one cluster all {len(seeds)} learners would be the same: one is trained; "
            "set n_clusters to 2 or more, or n_learners to 1",
            UserWarning,
            stacklevel=5,
        )
        return [first]
    rest = Parallel(n_jobs=max(1, min(jobs, len(seeds) - 1)), prefer="threads")(
        delayed(cut)(rows, settings, number, 1) for number in numbers[1:]
    )
    return [first, *rest]
