"""Labels as nodes of the hierarchy that a vocabulary's broader terms make."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.sparse import csr_matrix

from neartag.evaluation.hierarchy import complete_upwards
from neartag.vocabulary.concepts import Vocabulary


def label_nodes(names: Sequence[str], vocabulary: Vocabulary | None) -> csr_matrix | None:
    """Return each label's own concept and all above it, (L, m); None where there are no broader terms.

    A label that is no concept stands for itself alone. Broader concepts need not be labels.
    """
    concepts = () if vocabulary is None else vocabulary.concepts
    number_of = {concept.uri: number for number, concept in enumerate(concepts) if concept.uri}
    parents = [[number_of[uri] for uri in concept.broader if uri in number_of] for concept in concepts]
    if not any(parents):
        return None
    concept_of = {concept.label: number for number, concept in enumerate(concepts)}
    rows = [concept_of.setdefault(name, len(concept_of)) for name in names]
    parents += [[] for _ in range(len(concept_of) - len(parents))]
    return complete_upwards(parents)[rows]
