"""The graph of labels that stand together, as GraphML, which programs that draw and measure networks read.

A node is a label. An edge joins two labels that documents have together, or of which one is broader than the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import ModelError
from neartag.data.files import open_to_replace
from neartag.storage.bundle import StoredModel
from neartag.tagging.label_changes import list_labels

LABELS_AT_ONCE = 2048  # whose counts are in memory together
PER_LABEL = 20
MIN_TOGETHER = 2
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="documents" for="node" attr.name="documents" attr.type="int"/>
<key id="uri" for="node" attr.name="uri" attr.type="string"/>
<key id="together" for="edge" attr.name="together" attr.type="int"/>
<key id="weight" for="edge" attr.name="weight" attr.type="double"/>
<key id="broader" for="edge" attr.name="broader" attr.type="string"/>
<graph edgedefault="undirected">
"""
_TAIL = "</graph>\n</graphml>\n"
_UNFIT = "\ufffd"  # in place of characters that XML cannot hold


class Edge(NamedTuple):
    """Two labels, the one of the lower number first."""

    one: int
    two: int
    together: int  # documents that have both
    weight: float  # the same as a share of the documents that have either (Jaccard)
    broader: int | None = None  # which of the two is broader, where the vocabulary says so


def label_edges(stored: StoredModel, per_label: int = PER_LABEL, min_together: int = MIN_TOGETHER) -> Iterator[Edge]:
    """Yield the edges: for each label those to the labels that it stands with most often, and to broader ones."""
    Y = getattr(stored.model, "Y", None)
    if Y is None:
        raise ModelError(f"a model of kind {stored.model.kind!r} has not kept its documents' labels: train one of X1")
    ones = csr_matrix((np.ones(Y.nnz, np.int32), Y.indices, Y.indptr), shape=Y.shape)  # (n, L)
    columns = ones.T.tocsr()  # (L, n)
    frequency = np.diff(columns.indptr)
    kept = _most_frequent_together(ones, columns, per_label, min_together)
    broader = _broader_pairs(stored)
    for one, two in sorted(kept.keys() | broader.keys()):
        together = kept.get((one, two))
        if together is None:  # only the vocabulary joins them
            together = _count_together(columns, one, two)
        either = int(frequency[one] + frequency[two]) - together
        yield Edge(one, two, together, together / either if either else 0.0, broader.get((one, two)))


def write_label_graph(stored: StoredModel, edges: Iterator[Edge], path: Path) -> tuple[int, int]:
    """Write the graph as GraphML, whole or not at all, and return how many nodes and edges it has."""
    entries, count = list_labels(stored), 0
    with open_to_replace(path) as stream:
        stream.write(_HEAD.encode())
        for number, entry in enumerate(entries):
            values = {"label": entry.label, "documents": entry.documents, "uri": entry.uri or None}
            stream.write(f'<node id="n{number}">{_data(values)}</node>\n'.encode())
        for edge in edges:
            count += 1
            above = None if edge.broader is None else f"n{edge.broader}"
            values = {"together": edge.together, "weight": f"{edge.weight:.6g}", "broader": above}
            stream.write(f'<edge source="n{edge.one}" target="n{edge.two}">{_data(values)}</edge>\n'.encode())
        stream.write(_TAIL.encode())
    return len(entries), count


def _most_frequent_together(
    ones: csr_matrix, columns: csr_matrix, per_label: int, min_together: int
) -> dict[tuple[int, int], int]:
    """Return how many documents have both labels, by pair, for the pairs that are among the first of either label."""
    kept: dict[tuple[int, int], int] = {}
    for first in range(0, columns.shape[0], LABELS_AT_ONCE):
        counts = (columns[first : first + LABELS_AT_ONCE] @ ones).tocsr()  # (labels, L)
        counts.sort_indices()
        for row in range(counts.shape[0]):
            label, entries = first + row, slice(counts.indptr[row], counts.indptr[row + 1])
            others, together = counts.indices[entries], counts.data[entries]
            fit = (together >= min_together) & (others != label)
            others, together = others[fit], together[fit]
            for place in np.argsort(-together, kind="stable")[:per_label].tolist():
                pair = label, int(others[place])
                kept[min(pair), max(pair)] = int(together[place])
    return kept


def _broader_pairs(stored: StoredModel) -> dict[tuple[int, int], int]:
    """Return the broader label of each pair of labels of which the vocabulary says that one is broader."""
    vocabulary, labels = stored.vocabulary, stored.label_names or []
    if vocabulary is None:
        return {}
    number = {label: place for place, label in enumerate(labels)}
    by_uri = {each.uri: number[each.label] for each in vocabulary.concepts if each.uri and each.label in number}
    found = {}
    for concept in vocabulary.concepts:
        below = number.get(concept.label)
        for uri in concept.broader:
            above = by_uri.get(uri)
            if below is not None and above is not None and above != below:
                found[min(below, above), max(below, above)] = above
    return found


def _count_together(columns: csr_matrix, one: int, two: int) -> int:
    have = [columns.indices[columns.indptr[label] : columns.indptr[label + 1]] for label in (one, two)]
    return len(np.intersect1d(*have))


def _data(values: Mapping[str, object]) -> str:
    return "".join(
        f'<data key="{key}">{escape(_clean(str(value)))}</data>' for key, value in values.items() if value is not None
    )


def _clean(text: str) -> str:
    return "".join(each if each.isprintable() or each == "\t" else _UNFIT for each in text)
