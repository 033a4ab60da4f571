"""X1Classifier: the paper's method behind scikit-learn's conventions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from neartag.core.estimator import LabelClassifier, choose_progress, describe_parameters
from neartag.core.parameters import check_settings
from neartag.core.progress import Progress
from neartag.core.threads import resolve_jobs, single_threaded_blas
from neartag.linalg.rows import as_training_rows
from neartag.linalg.validation import check_training
from neartag.work.executors.base import Executor
from neartag.x1 import parameters
from neartag.x1.method import METHOD
from neartag.x1.model import X1Model
from neartag.x1.resolve import MIN_POINTS_TO_RERANK, DataFacts, resolve
from neartag.x1.schedule import Machine
from neartag.x1.settings import X1Settings
from neartag.x1.training import fit_model

# What a parameter that has another name now is in the constructor, unless it is set.
DEPRECATED = "deprecated"
# What every prediction checks: of the whole table, which is four times as long, only these are looked up.
_PREDICTION_PARAMETERS = tuple(each for each in parameters.PARAMETERS if each.name in METHOD.prediction)


class X1Classifier(LabelClassifier):
    """Classifier for many labels: local embeddings find nearest neighbours that vote, and linear rankers decide.

    The embeddings keep label neighbours, as in the paper. Votes and label centroids propose labels, and each label's
    ranker decides. With `refine=False` the votes decide alone. So they do with fewer than 200 points, of which a
    UserWarning tells: some must be held out to weigh votes and rankers. So they do with dense measurements for which
    they were better on held-out points; `model_.reranker` is then None.

    A parameter that is "auto" is settled when the classifier is fitted; `model_.parameters` has what was used.

    Parameters
    ----------{parameters}
    refine_least : a number, default 'deprecated'
        the earlier name of refine_min_weight.

    Attributes
    ----------
    model_ : X1Model
        What was learned; `neartag.store.save(model_, folder)` keeps it.
    held_out_ : HeldOut or None
        What held-out points were answered, where `fit` was asked for it.
    n_features_in_, n_labels_ : int
        The training data's numbers of features and labels.

    Examples
    --------
    >>> from neartag import X1Classifier
    >>> X = [[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1]] * 5  # 20 points of 3 features
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]] * 5  # and which of 2 labels each has
    >>> classifier = X1Classifier().fit(X, Y)
    >>> labels, scores = classifier.predict_topk([[2, 0, 0], [0, 3, 0]], k=1)
    >>> labels.tolist()
    [[0], [1]]
    >>> classifier.predict([[2, 0, 0], [0, 3, 0]]).toarray().tolist()
    [[1, 0], [0, 1]]
    >>> classifier.decision_function([[2, 0, 0]]).shape
    (1, 2)
    >>> classifier.model_.parameters["n_clusters"]
    1
    """

    def __init__(
        self,
        n_learners: int | str = "auto",
        n_clusters: int | str = "auto",
        max_cluster_size: int | str | None = None,
        cluster_start: str = "k-means++",
        k_means: str = "quick",
        n_probe: int = 1,
        centroid_entries: int | None = None,
        embedding_dim: int | str = "auto",
        svp_neighbours: int | str = 100,
        label_similarity: str = "cosine",
        svp_step: float = 1.5,
        svp_max_iter: int | str = "auto",
        svp_tol: float = 1e-3,
        svp_projection: str = "tangent",
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
        vector_share: float | str = "auto",
        refine: bool = True,
        refine_candidates: int | str = "auto",
        refine_cost: float | str = "auto",
        refine_min_weight: float = 0.05,
        vector_weight: float | str = "auto",
        threshold: float = 0.5,
        random_state: int | None = 0,
        n_jobs: int | None = -1,
        max_memory: int | str | None = None,
        refine_least: float | str = DEPRECATED,
    ) -> None:
        self.n_learners = n_learners
        self.n_clusters = n_clusters
        self.max_cluster_size = max_cluster_size
        self.cluster_start = cluster_start
        self.k_means = k_means
        self.n_probe = n_probe
        self.centroid_entries = centroid_entries
        self.embedding_dim = embedding_dim
        self.svp_neighbours = svp_neighbours
        self.label_similarity = label_similarity
        self.svp_step = svp_step
        self.svp_max_iter = svp_max_iter
        self.svp_tol = svp_tol
        self.svp_projection = svp_projection
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
        self.vector_share = vector_share
        self.refine = refine
        self.refine_candidates = refine_candidates
        self.refine_cost = refine_cost
        self.refine_min_weight = refine_min_weight
        self.vector_weight = vector_weight
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.refine_least = refine_least

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        progress: Progress | bool = False,
        held_out: bool = False,
        executor: Executor | None = None,
    ) -> X1Classifier:
        """Learn from points and their labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Feature rows.
        Y : array or sparse matrix of shape (n, L)
            1 where a point has a label, 0 elsewhere.
        progress : bool or Progress, default False
            True shows a bar on a terminal, and lines elsewhere.
        held_out : bool, default False
            Whether to keep some points out of training at first, and to keep in `held_out_` what they were answered
            then. Calibrated scores are made from these answers. `held_out_` is None where there are too few points.
        executor : Executor, optional
            Who runs the tasks of the training (`neartag.work`). None: threads of this process, with everything in
            memory; or processes, where joblib is configured for them. The model is the same.

        Returns
        -------
        X1Classifier
            The classifier itself.

        Raises
        ------
        ParameterError
            If a parameter cannot be used, or the memory allowed is too small for a cluster or for the refinement.
        DataError
            If X or Y cannot be read as rows, or their numbers of rows differ.

        Examples
        --------
        >>> from neartag.data import synthetic
        >>> data = synthetic.make(600, 100, 10, 10, 2)
        >>> classifier = X1Classifier().fit(data.X, data.Y, held_out=True)
        >>> classifier.held_out_.labels.shape  # of 150 points the 20 best labels
        (150, 20)
        """
        given = parameters.check_settings(self._current_params())
        X, Y = check_training(X, Y, type(self).__name__)
        rows = as_training_rows(X)
        asked = X1Settings.from_parameters(given)
        settings = resolve(asked, DataFacts.of(rows, Y.shape[1]))
        machine = Machine(resolve_jobs(given["n_jobs"]), given["max_memory"])
        _warn_of_oddities(rows.shape[0], asked, settings, Y)
        # Held here as well as in each task: the thread that calls is the one that BLAS's limit obeys.
        with single_threaded_blas():
            model, self.held_out_ = fit_model(rows, Y, asked, machine, choose_progress(progress), held_out, executor)
        if len(model.learners) < int(settings.learners):
            warnings.warn(
                f"with one cluster all {settings.learners} learners would be the same: one is trained; "
                "set n_clusters to 2 or more, or n_learners to 1",
                UserWarning,
                stacklevel=2,
            )
        # The model tells that refining was asked for, also where votes alone decide.
        self._keep_model(replace(model, settings=model.settings.replace(refine=asked.rerank.enabled)))
        return self

    def _current_params(self) -> dict[str, Any]:
        """Return the parameters by the names that they have now; FutureWarning for one set by an earlier name."""
        given = self.get_params()
        least = given.pop("refine_least")
        if isinstance(least, str) and least == DEPRECATED:
            return given
        warnings.warn(
            "refine_least is now called refine_min_weight; the old name will be removed", FutureWarning, stacklevel=3
        )
        if given["refine_min_weight"] == parameters.DEFAULTS["refine_min_weight"]:
            del given["refine_min_weight"]
        return {**given, "refine_least": least}

    def _current_model(self) -> X1Model:
        check_is_fitted(self, "model_")
        # What only prediction uses may be set after training, as in any scikit-learn estimator.
        given = {each.name: getattr(self, each.name) for each in _PREDICTION_PARAMETERS}
        changes = check_settings(given, _PREDICTION_PARAMETERS, METHOD.name)
        # "auto" was settled in training.
        return self.model_.with_settings({name: value for name, value in changes.items() if value != "auto"})


X1Classifier.__doc__ = (X1Classifier.__doc__ or "").replace("{parameters}", describe_parameters(parameters.PARAMETERS))

# Clusters of fewer points on average have too few to vote.
MIN_VOTERS = 10


def _warn_of_oddities(n: int, asked: X1Settings, settings: X1Settings, Y: csr_matrix) -> None:
    if asked.rerank.enabled and not settings.rerank.enabled:
        few = f"{n} point{'s are' if n > 1 else ' is'} too few to refine"
        warnings.warn(
            f"{few}, for which {MIN_POINTS_TO_RERANK} are needed: votes alone decide",
            UserWarning,
            stacklevel=3,
        )
    if Y.nnz == 0:
        warnings.warn("no training point has a label: nothing will ever be predicted", UserWarning, stacklevel=3)
    clusters = int(settings.clusters.count)
    if clusters > 1 and n < MIN_VOTERS * clusters:
        warnings.warn(
            f"n_clusters = {clusters} leaves fewer than {MIN_VOTERS} of the {n} points to a cluster: choose fewer",
            UserWarning,
            stacklevel=3,
        )
