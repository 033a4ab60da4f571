"""The ladder's experiment: each change alone, and added to all before it, on splits of the small sets."""

from __future__ import annotations

from typing import Any

from neartag.core.threads import resolve_jobs
from neartag.experiments import datasets, methods, table3, trials
from neartag.experiments.datasets import Parts
from neartag.experiments.ladder.changes import ADDED, ALONE, CHANGES, OF_THE_VOTE, has_rung, rung_settings
from neartag.experiments.ladder.report import at_a_glance, report_data
from neartag.experiments.learners import small_sets
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.report.blocks import Block, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work
from neartag.experiments.splits import Split, embed_split, prepare
from neartag.search.inverted_index import FeatureIndex
from neartag.x1.model import X1Model
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings

SPLITS = 10


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


EXPERIMENT = Ladder()
