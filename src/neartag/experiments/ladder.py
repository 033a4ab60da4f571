"""The ladder from X1 (paper) to neartag: what each departure from the paper is worth.

Each change is measured twice: alone, made to X1 (paper); and on top of all changes before it. The first and the last
rung are the columns X1 (paper) and refined of Table 3, on the same splits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from neartag.core.threads import resolve_jobs
from neartag.experiments import datasets, methods, table3, trials
from neartag.experiments.datasets import Parts
from neartag.experiments.gains import ADDED, ALONE, PRESET, REFINE, at_a_glance, report_data
from neartag.experiments.learners import small_sets
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.splits import Split, embed_split, prepare
from neartag.methods import presets
from neartag.search.inverted_index import FeatureIndex
from neartag.x1.model import X1Model
from neartag.x1.parameters import DEFAULTS
from neartag.x1.presets import VOTE_PRESETS
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings

SPLITS = 10
OF_THE_VOTE = ("distance", "weights", "features")  # changes that leave the embeddings as they are


class Change(NamedTuple):
    """A departure of neartag from the paper."""

    title: str
    words: str
    settings: Callable[[dict[str, Any]], dict[str, Any]]  # of what was chosen for neartag's votes on the set


def _defaults(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a change to what was chosen for the set, or to neartag's defaults."""
    return lambda own: {name: own.get(name, DEFAULTS[name]) for name in names}


CHANGES = {
    "svp": Change(
        "ten steps of SVP, η = 1.5",
        "At most ten steps with η = 1.5 along the tangent, in place of whole steps with η = 1 to convergence.",
        _defaults("svp_step", "svp_max_iter", "svp_tol", "svp_projection"),
    ),
    "clusters": Change(
        "one cluster",
        "One cluster in place of ⌊n/6000⌋; where there are several they start by k-means++, and large ones are split.",
        _defaults("n_clusters", "cluster_start", "k_means", "max_cluster_size"),
    ),
    "labels": Change(
        "cosine of labels",
        "Label neighbours, and the products that SVP preserves, are cosines in place of inner products.",
        _defaults("label_similarity"),
    ),
    "distance": Change(
        "cosine of V·x",
        "The k nearest points by the cosine of V·x in place of the Euclidean distance.",
        _defaults("vote_distance"),
    ),
    "weights": Change(
        "weighted votes",
        "A neighbour's vote weighs exp(−a·‖V·x − V·xᵢ‖²/2) in place of 1, which by cosines is exp(a·(cos − 1)); a, "
        "and k with it, are as chosen for such votes.",
        _defaults("vote_weight", "vote_sharpness", "vote_neighbours"),
    ),
    "penalty": Change(
        "n̄ and λ",
        "n̄ and λ as validation chose them for neartag's votes in place of those chosen for X1 (paper).",
        _defaults("svp_neighbours", "l2"),
    ),
    "dimension": Change("dimension", "L̂ as chosen for the set in place of 100.", _defaults("embedding_dim")),
    "features": Change(
        "votes by features",
        "The nearest points by the features themselves have a share of the vote, as chosen for the set.",
        _defaults("feature_share", "feature_search"),
    ),
    REFINE: Change(
        "rankers",
        "Votes and label centroids only propose labels; a linear ranker of each label decides (`refine`). Where these "
        "are no better on held-out points, votes go on to decide: so on MediaMill, added.",
        _defaults("refine"),
    ),
    PRESET: Change(
        "settings for rankers",
        "Everything else as it was chosen for votes that only propose: the set's preset, or neartag's defaults. Added "
        "to all others this is the column “refined”; alone it is not measured.",
        _defaults(),
    ),
}


class Ladder(Experiment):
    """A cell is a change, alone or added to those before it, on a split of a data set."""

    name = "ladder"
    title = "The ladder from the paper's X1 to neartag"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per data set, rung and split; the ends of the ladder are cells of Table 3."""
        if not plan.wants(methods.STRICT):
            return []
        cells = []
        for data in small_sets(plan):
            for seed in plan.runs(SPLITS):
                cells += [
                    plan.cell(table3.EXPERIMENT.name, data, end, seed) for end in (methods.STRICT, methods.REFINED)
                ]
                cells += [
                    plan.cell(self.name, data, methods.STRICT, seed, change=change, rung=rung)
                    for change in CHANGES
                    for rung in (ALONE, ADDED)
                    if has_rung(data, change, rung)
                ]
        return cells

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the settings of a rung."""
        if cell.experiment != self.name:
            return table3.EXPERIMENT.settings(cell)
        return rung_settings(cell.data, cell.option("change"), cell.option("rung"), cell.quick)

    def probe(self, cell: Cell) -> str:
        """Return both forms of X1 where a rung stands between them."""
        if cell.experiment != self.name:
            return table3.EXPERIMENT.probe(cell)
        return "x1-refined" if self.settings(cell).get("refine") else "x1-ladder"

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return precision, times and size, and how many points the split has."""
        parts = datasets.split(cell.data, cell.seed, cell.quick)
        if cell.option("rung") == ALONE and cell.option("change") in OF_THE_VOTE:
            measured = measure_vote(cell, self.settings(cell), parts, resolve_jobs(work.jobs))
        else:
            measured = methods.measure(cell.method, self.settings(cell), parts, cell.seed, work)
        return {**measured, "train_points": parts.X.shape[0], "test_points": parts.X_test.shape[0]}

    def report(self, results: Results) -> list[Block]:
        """Return a table and a plot of each data set, and what the changes are."""
        own = results.select(self.name)
        titles = {name: change.title for name, change in CHANGES.items()}
        blocks: list[Block] = []
        for data in datasets.in_table_order(own.names("data")):
            ends = results.select(table3.EXPERIMENT.name, data=data)
            blocks += report_data(own.select(data=data), ends, data, titles)
        if blocks:
            blocks = [*at_a_glance(own, results.select(table3.EXPERIMENT.name), titles), *blocks]
            words = [f"{change.title}. {change.words}" for change in CHANGES.values()]
            blocks.insert(0, Text(words, "The changes, in their order", as_list=True))
        return blocks


def measure_vote(cell: Cell, settings: dict[str, Any], parts: Parts, threads: int) -> dict[str, Any]:
    """Return what a change of the vote gives: the embedding is X1 (paper)'s, learned once for all of them."""
    unit = prepare(parts, "unit")
    given = X1Settings.from_parameters({**settings, "random_state": cell.seed})
    resolved = resolve(given, DataFacts.of(unit.X, unit.Y.shape[1]))
    paper = {**methods.paper_settings(cell.data, quick=cell.quick), "random_state": cell.seed}
    strict = resolve(X1Settings.from_parameters(paper), DataFacts.of(unit.X, unit.Y.shape[1]))
    split = Split(cell.data, cell.seed, cell.quick, "unit", held_out=False)
    learner = trials.regress(embed_split(split, strict, threads=threads), resolved, threads)
    index = FeatureIndex.from_rows(unit.X) if float(resolved.vote.feature_share) > 0 else None
    model = X1Model(resolved, int(unit.X.shape[1]), unit.Y, [learner], index)
    return methods.assess(methods.as_classifier(model, threads), parts)


def own_votes(data: str) -> dict[str, Any]:
    """Return what was chosen for neartag's votes on a data set; nothing where nothing was."""
    return dict(VOTE_PRESETS.get(presets.preset_name(data), {}))


def rung_settings(data: str, change: str, rung: str, quick: bool = False) -> dict[str, Any]:
    """Return the settings of X1 (paper) with a change, and with all before it if it is added to them."""
    names = list(CHANGES)
    changes = names[: names.index(change) + 1] if rung == ADDED else [change]
    settings = methods.paper_settings(data, quick=quick)
    for each in changes:
        settings |= CHANGES[each].settings(own_votes(data))
    return settings


def has_rung(data: str, change: str, rung: str) -> bool:
    """Say whether a rung is measured here: not where the change changes nothing, nor the last, which Table 3 has."""
    if change == PRESET:
        return False
    names = list(CHANGES)
    place = names.index(change)
    before = methods.paper_settings(data)
    if rung == ADDED and place:
        before = rung_settings(data, names[place - 1], ADDED)
    after = rung_settings(data, change, rung)
    return any(after.get(name, DEFAULTS[name]) != before.get(name, DEFAULTS[name]) for name in after)


EXPERIMENT = Ladder()
