"""LEML: one low-rank linear regression of all labels.

Yu, Jain, Kar, Dhillon, "Large-scale multi-label learning with missing labels", ICML 2014; squared loss, all labels
known.

Objective:

    min over W (d, r), H (L, r) of ½ ‖Y − X W Hᵀ‖² + ½ λ (‖W‖² + ‖H‖²)

The paper alternates from a random start, conjugate gradients on each factor. Here, too, with differences that change
the way and not the objective:
- Given W all labels share one small system, (AᵀA + λ) Hᵀ = AᵀY with A = X W: H is solved for exactly.
- Of all factors with the same product those of equal, diagonal Gram matrices have the smallest penalty (λ times the
  product's nuclear norm). The factors are brought to that form after each step. The objective falls by it, what would
  be slow to grow or shrink is at once at its size, and the W-step falls apart into r ridge regressions of its own
  shift each, (σⱼ XᵀX + λ) wⱼ = XᵀY hⱼ. Directions that the penalty has shrunk to nothing are left out of the model.
- Where X has few features or points (`leml_steps.Spectral`), these are solved exactly, in float64.
- H starts from the labels' own main directions, found by random projection. Few alternations are then enough. On
  Bibtex and EUR-Lex a single one predicts better than the minimum that many lead to: `max_iter` is chosen as λ is.

Cost, for nnz entries of X and Y together: an alternation takes nnz · r · cg_max_iter + (n + d + L) · r², memory
(n + d + L) · r; an array of n · L is never made. With few features an alternation takes d · L · r, whatever n, and
memory d · (d + L), which is bounded.
Predicting a point takes d̄ · r + L · r; the model has (d + L) · r numbers.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_L2, TRIED_SCALES, bias, l2, share_or_number
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import Parameter

# This module must stay light: the command line reads it for --help.
ALTERNATIONS = (
    l2(2.0, "L2 penalty of both factors, λ"),
    Parameter("max_iter", int, 2, "alternations between the two factors", 1),
    Parameter("cg_max_iter", int, 20, "steps of conjugate gradients an alternation at most", 1),
    bias(1.0),
)
METHOD = Method(
    name="leml",
    title="LEML",
    summary="low-rank linear regression of the labels, both factors by conjugate gradients",
    reference="Yu, Jain, Kar, Dhillon 2014",
    description=__doc__,
    estimator="neartag.comparators.leml.classifier:LEMLClassifier",
    model="neartag.comparators.leml.classifier:LEMLModel",
    parameters=(share_or_number("rank", "rank of the weights, k"), *ALTERNATIONS, *COMMON),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"l2": 0.5, "max_iter": 1, "bias": 0.0},
        "delicious": {"l2": 10.0, "max_iter": 3, "bias": 0.5},
        "mediamill": {"row_scale": "raw", "l2": 0.01, "max_iter": 10, "bias": 0.0},
        "eurlex": {"rank": 1500, "l2": 1.0, "max_iter": 1, "bias": 0.0},
        "yso-finna-en-100k": {"rank": 1000, "l2": 3.0, "max_iter": 3, "bias": 0.0},
    },
    search_space=SearchSpace({"l2": [*TRIED_L2, 0.01], "max_iter": [1, 3, 10], "bias": [1.0, 0.0], **TRIED_SCALES}),
    colour="#d55e00",
    place=1,
    scales=True,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for
