"""Table 4: how much X1's precision varies between runs, with 1 to 10 learners.

A run trains ten learners from its own seed; the ensemble of j learners is the first j of them. The paper measured this
on WikiLSHTC; here it is the largest real set that is present.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from neartag.evaluation.metrics import precision_at
from neartag.experiments import datasets, methods
from neartag.experiments.learners import ENSEMBLES, first_learners, load_parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.printed import TABLE_4
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Series, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import Experiment, Work

METHODS = (methods.STRICT, methods.OWN)
RUNS = 10
LEARNERS = tuple(TABLE_4)
PAPER_SET = "WikiLSHTC"
VOTERS = 20  # k of kNN where nothing was chosen


class Stability(Experiment):
    """A cell is a run."""

    name = "table4"
    title = "Table 4: stability"

    def cells(self, plan: Plan) -> list[Cell]:
        """Return one cell per column and run on one set: a large one, else the last small one, else the embedded."""
        data = (datasets.choose_large(plan.data) or datasets.choose_small(plan.data)[-1:])[0]
        wanted = [method for method in METHODS if plan.wants(method)]
        return [plan.cell(self.name, data, method, seed) for method in wanted for seed in plan.runs(RUNS, quick=3)]

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Return the column's settings for large sets, with as many learners as the table has."""
        # As in the paper, k is chosen once and not in each run: the runs differ only in their clusters.
        settings = {
            "vote_neighbours": VOTERS,
            **methods.settings_for(cell.method, cell.data, large=True, quick=cell.quick),
        }
        return {**settings, "n_learners": max(LEARNERS)}

    def run(self, cell: Cell, work: Work) -> dict[str, Any]:
        """Return precision by the number of learners."""
        parts = load_parts(cell)
        model, cost = ENSEMBLES.train(cell, self.settings(cell), parts, work)
        measured: dict[str, Any] = {precision: [] for precision in methods.PRECISIONS}
        with work.start(len(LEARNERS), "predicting"):
            for count in LEARNERS:
                labels, _ = first_learners(model, count).predict_topk(parts.X_test, max(methods.CUTS), n_jobs=work.jobs)
                for k in methods.CUTS:
                    measured[f"P@{k}"].append(round(precision_at(labels, parts.Y_test, k), 4))
                work.advance()
        clusters = [len(learner.clusters) for learner in model.learners]
        return {**measured, **cost, "clusters": clusters}

    def report(self, results: Results) -> list[Block]:
        """Return the table, the plot, and the deviation of ten learners beside the paper's."""
        blocks: list[Block] = []
        own = results.select(self.name)
        for data in datasets.in_table_order(own.names("data")):
            for method in METHODS:
                if method in own.select(data=data).names("method"):
                    blocks += _report_column(own.select(data=data, method=method), data, method)
        return blocks


def _report_column(own: Results, data: str, method: str) -> list[Block]:
    by_learners = [_select_count(own, place) for place in range(len(LEARNERS))]
    same_set = datasets.paper_name(data) == PAPER_SET
    rows: list[list[Entry]] = []
    for count, results in zip(LEARNERS, by_learners, strict=True):
        summaries = [results.summary(precision) for precision in methods.PRECISIONS]
        means = [
            Number(summary.mean, runs=summary.runs, printed=printed if same_set else None) if summary else Number(None)
            for summary, printed in zip(summaries, TABLE_4[count].means, strict=True)
        ]
        deviations = [
            Number(summary.deviation if summary else None, printed=printed if same_set else None, digits=3)
            for summary, printed in zip(summaries, TABLE_4[count].deviations, strict=True)
        ]
        rows.append([str(count), *means, *deviations])
    name = f"{methods.title(method)}, {datasets.title(data)}"
    note = (
        f"Dimension 50 and {_describe_clusters(own)} clusters in a learner: the paper has one per 6,000 points. "
        f"{methods.describe_x1_columns([method])} k is {_voters(own)} in all runs. Means and standard deviations over "
        "the runs, which differ in the seed alone."
    )
    series = [_line(by_learners, precision) for precision in methods.PRECISIONS]
    plot = Figure(
        f"Precision with more learners: {name}",
        f"table4-{data}-{method}",
        series,
        "learners",
        "percent",
        note="The band is one standard deviation over the runs on either side.",
    )
    headings = ["learners", *methods.PRECISIONS, *(f"deviation of {precision}" for precision in methods.PRECISIONS)]
    return [Table(name, headings, rows, note), plot, Text([_verdict(by_learners[-1], name)])]


def _describe_clusters(own: Results) -> str:
    """Return the smallest and the largest number of clusters of a learner, for people."""
    counts = [count for measured in own.values() for count in measured["clusters"]]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _voters(own: Results) -> str:
    """Return k, for people."""
    return ", ".join(sorted({str(record.settings.get("vote_neighbours", VOTERS)) for record in own.records.values()}))


def _line(by_learners: list[Results], precision: str) -> Series:
    points = [
        (count, summary.mean, summary.deviation or 0.0)
        for count, results in zip(LEARNERS, by_learners, strict=True)
        if (summary := results.summary(precision)) is not None
    ]
    counts, means, deviations = zip(*points, strict=True)
    return Series(precision, counts, means, deviations)


def _select_count(own: Results, place: int) -> Results:
    """Return the results of one number of learners."""
    records = {
        cell: replace(record, measured={name: record.measured[name][place] for name in methods.PRECISIONS})
        for cell, record in own.records.items()
        if not record.failed
    }
    return Results(records, own.plan)


def _verdict(results: Results, name: str) -> str:
    summary = results.summary("P@1")
    if summary is None or summary.deviation is None:
        return "One run says nothing about the deviation."
    return (
        f"{name}: with {max(LEARNERS)} learners the standard deviation of P@1 over {summary.runs} runs is "
        f"{summary.deviation:.3f} points; the paper's, on {PAPER_SET}, is "
        f"{TABLE_4[max(LEARNERS)].deviations[0]:.3f}."
    )


EXPERIMENT = Stability()
