"""CPLST: label directions that are at once common among the points and easy to predict from the features.

Yao-Nan Chen and Hsuan-Tien Lin, "Feature-aware label space dimension reduction for multi-label classification",
NIPS 2012 (conditional principal label space transformation).

Objective: with Z = Y − 1ȳᵀ the labels less their means, and H = X (XᵀX + λI)⁻¹ Xᵀ what ridge regression makes of them,

    max over V (L, M) with VᵀV = I of tr Vᵀ Zᵀ H Z V,
    W = (XᵀX + λI)⁻¹ Xᵀ Z V,        scores ȳ + x W Vᵀ:

V has the M leading eigenvectors of ZᵀHZ. Neither Z nor H is ever made: with the Cholesky factor R Rᵀ = XᵀX + λI and
T = R⁻¹ (XᵀY − Xᵀ1 ȳᵀ) (d, L) we have ZᵀHZ = TᵀT and W = R⁻ᵀ T V. Where d < L the eigenvectors U of T Tᵀ (d, d) are
found instead, from which V = Tᵀ U / √eigenvalues.

Cost of training: nnz(X) d̄ for XᵀX with d̄ features a row, d³/3 for its factor, d² L for T, and some min(d, L)³ for the
eigenvectors; memory of d² + 2 d L + 3 min(d, L)² numbers in float64. Prediction of a point: d̄ M + M L. The model is
(d + L) M numbers. Many points cost little; tens of thousands of both features and labels are out of reach.

Where we differ from the paper: it rounds the scores to decide on labels, we rank by them; directions of which ridge
regression makes nothing (eigenvalue 0) are dropped, since they would add nothing to any score.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_L2, TRIED_SCALES, bias, l2, share_or_number
from neartag.core.method import Method, SearchSpace

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="cplst",
    title="CPLST",
    summary="label directions that are both common and easy to predict, each by ridge regression",
    reference="Chen, Lin 2012",
    description=__doc__,
    estimator="neartag.comparators.cplst.classifier:CPLSTClassifier",
    model="neartag.comparators.cplst.classifier:CPLSTModel",
    parameters=(
        share_or_number("dim", "label directions kept, M"),
        l2(1.0, "L2 penalty of the regression, λ"),
        bias(1.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"l2": 0.5},
        "delicious": {"dim": 0.1},
        "mediamill": {"dim": 0.5, "l2": 1e-5, "row_scale": "raw"},
        "eurlex": {"dim": 0.8, "bias": 0.0},
    },
    search_space=SearchSpace({"dim": ["auto", 0.1, 0.5], "l2": [*TRIED_L2, 1e-3], "bias": [1.0, 0.0], **TRIED_SCALES}),
    colour="#009e73",
    place=4,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for
