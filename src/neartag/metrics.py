"""Public alias of `neartag.evaluation.metrics`: P@k, nDCG@k, recall@k and their propensity-scored forms."""

from neartag.evaluation.metrics import (
    Interval,
    by_frequency,
    evaluate,
    ndcg_at,
    paired_bootstrap,
    precision_at,
    propensities,
    psndcg_at,
    psp_at,
    recall_at,
)

__all__ = [
    "Interval",
    "by_frequency",
    "evaluate",
    "ndcg_at",
    "paired_bootstrap",
    "precision_at",
    "propensities",
    "psndcg_at",
    "psp_at",
    "recall_at",
]
