"""CS: labels through compressed sensing, that is random projections of them, linear regression, and sparse decoding.

Daniel Hsu, Sham Kakade, John Langford and Tong Zhang, "Multi-label prediction via compressed sensing", NIPS 2009.

Objective: with a random A (m, L), whose columns are Gaussian and of unit length, W is the ridge regression of the
projected labels, and a point's labels are what a k-sparse vector explains of the projections predicted for it:

    min over W of ‖Y Aᵀ − X W‖² + λ ‖W‖²,
    then for ẑ = x W        min over y with ‖y‖₀ ≤ k of ‖ẑ − A y‖².

The second is decoded greedily, by orthogonal matching pursuit or by CoSaMP. Labels are ranked by their coefficients: on
held-out parts of bibtex, Delicious and MediaMill that was better by 0.3 to 1.2 points of P@1 than the order in which
OMP chose them (k = 10). Only those chosen have a score: at most k labels can be predicted for a point.

Cost of training: nnz(Y) m for the projections and the ridge regression of m targets; memory n m. Prediction of a point:
d̄ m + m L for Aᵀẑ, then k² L / 2 with K = AᵀA at hand for OMP, and about 3 k L an iteration for CoSaMP. The model is
(d + L) m numbers, and prediction holds K, L² numbers in float32, beside it.

Where we differ from the paper: the Gaussian columns are made of unit length, which the decoders want; CoSaMP ends when
the residual no longer falls.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_L2, TRIED_SCALES, bias, l2, share_or_number
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import MAX_COUNT, Parameter

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="cs",
    title="CS",
    summary="random projections of the labels, linear regression, sparse decoding",
    reference="Hsu, Kakade, Langford, Zhang 2009",
    description=__doc__,
    estimator="neartag.comparators.cs.classifier:CompressedSensingClassifier",
    model="neartag.comparators.cs.classifier:CompressedSensingModel",
    parameters=(
        share_or_number("dim", "random projections, m"),
        Parameter("sparsity", int, 15, "labels decoded for a point at most, k", 1, MAX_COUNT),
        Parameter("decoder", str, "cosamp", "how the sparse label vector is found", choices=("omp", "cosamp")),
        l2(1.0, "L2 penalty of the regression, λ"),
        bias(1.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"bias": 0.0, "sparsity": 25},
        "delicious": {"dim": 0.8, "sparsity": 25},
        "mediamill": {"l2": 0.01, "bias": 0.0, "row_scale": "raw"},
        "eurlex": {"dim": 0.8, "bias": 0.0, "sparsity": 10},
    },
    search_space=SearchSpace(
        {"dim": ["auto", 0.5], "l2": [*TRIED_L2, 0.01], "bias": [1.0, 0.0], **TRIED_SCALES},
        {"sparsity": [15, 5, 10, 25], "decoder": ["cosamp", "omp"]},
    ),
    prediction=("sparsity", "decoder", "threshold"),
    colour="#56b4e9",
    place=5,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for
