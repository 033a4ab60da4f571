"""What a process that answers once compiles in a second process, where the machine code is not kept on disk yet."""

from __future__ import annotations

from neartag.core.compile_beside import compile_beside
from neartag.core.jit import Kernel
from neartag.rerank import candidate_kernels, fusion_kernels
from neartag.x1 import vote_kernels
from neartag.x1.model import X1Model

# Of what a refined answer needs, the latter half: this process compiles the searches meanwhile.
AFTER_THE_SEARCH: tuple[Kernel, ...] = (
    candidate_kernels.candidates,
    fusion_kernels.probabilities,
    candidate_kernels.best_candidates,
    vote_kernels.label_shares,
)


def hasten_first_answer(model: X1Model) -> None:
    """Begin to compile what the first answer of a refined model needs; nothing for other models."""
    if model.reranker is not None:
        compile_beside(AFTER_THE_SEARCH)
