"""`neartag export`: embeddings and the label graph of a model, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neartag.cli import output
from neartag.cli.options import AsJson, Model, Quiet
from neartag.cli.output_file import check_output
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.errors import ParameterError

EMBEDDINGS, GRAPH = (".npz", ".parquet"), ".graphml"


@with_trust
def export(
    model: Model,
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="File to write: .npz or .parquet for embeddings, .graphml for labels."),
    ],
    learner: Annotated[int, typer.Option(help="Embeddings: which learner's, counted from 0.")] = 0,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Embeddings: the vectors of the model's sentence encoder instead.")
    ] = False,
    per_label: Annotated[int, typer.Option(help="Label graph: at most so many edges chosen by each label.")] = 20,
    min_together: Annotated[int, typer.Option(help="Label graph: documents that must have both labels.")] = 2,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace TARGET if it is there already.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Write a model's embeddings, or the graph of its labels, to a file that other programs read.

    Embeddings (.npz, .parquet): for each document of the model its id, its point in the space that X1 learned, its
    cluster and its labels. Each cluster has a space of its own: compare points of one cluster only.

    Label graph (.graphml): labels as nodes; edges between labels that documents have together, and between broader and
    narrower ones where the model has a vocabulary.
    """
    ending = Path(target).suffix.lower()
    if ending not in (*EMBEDDINGS, GRAPH):
        raise ParameterError(f"{target}: the ending must be one of {', '.join((*EMBEDDINGS, GRAPH))}")
    for name, value in (("--per-label", per_label), ("--min-together", min_together)):
        if value < 1:
            raise ParameterError(f"{name} must be at least 1, not {value}")
    check_output(target, model, model, overwrite, "TARGET")
    from neartag.storage import store
    from neartag.tagging import export_embeddings, export_label_graph

    with output.progress(quiet).start(None, f"loading {model}"):
        stored = store.load(model, trust=trust)
    with output.progress(quiet).start(None, f"writing {target}"):
        if ending == GRAPH:
            edges = export_label_graph.label_edges(stored, per_label, min_together)
            sizes = export_label_graph.write_label_graph(stored, edges, Path(target))
            report = dict(zip(("labels", "edges"), sizes, strict=True))
        else:
            found = (
                export_embeddings.meaning_vectors(stored)
                if vectors
                else export_embeddings.learned_embeddings(stored, learner)
            )
            export_embeddings.write_embeddings(found, Path(target))
            report = dict(zip(("documents", "dimensions"), found.points.shape, strict=True))
    if as_json:
        output.show_json({"target": target, **report})
    else:
        output.show_pairs([(name, f"{count:,}") for name, count in report.items()])
