"""Labels as nodes of the hierarchy that a vocabulary's broader terms make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from neartag.evaluation.hierarchy import complete_upwards
from neartag.linalg import csr
from neartag.vocabulary.concepts import Vocabulary


def label_nodes(names: Sequence[str], vocabulary: Vocabulary | None) -> csr_matrix | None:
    """Return each label's own concept and all above it, (L, m); None where there are no broader terms.

    A label that is no concept stands for itself alone. Broader concepts need not be labels. A concept that is above all
    others says nothing, since all labels would have it in common: it counts only where it is the label itself.
    """
    concepts = () if vocabulary is None else vocabulary.concepts
    number_of = {concept.uri: number for number, concept in enumerate(concepts) if concept.uri}
    parents = [[number_of[uri] for uri in concept.broader if uri in number_of] for concept in concepts]
    if not any(parents):
        return None
    concept_of = {concept.label: number for number, concept in enumerate(concepts)}
    rows = [concept_of.setdefault(name, len(concept_of)) for name in names]
    parents += [[] for _ in range(len(concept_of) - len(parents))]
    return _without_root(complete_upwards(parents), np.array([bool(each) for each in parents]))[rows]


def _without_root(above: csr_matrix, has_parents: np.ndarray) -> csr_matrix:
    """Return what is above each node (m, m), without a node that is above all that have something above."""
    below = np.bincount(above[has_parents].indices, minlength=above.shape[1])  # (m,)
    root = (below == has_parents.sum()) & ~has_parents
    return csr.keep_entries(above, ~root[above.indices] | (above.indices == csr.row_numbers(above)))
