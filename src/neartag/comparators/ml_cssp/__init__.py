"""ML-CSSP: a regressor for each of a few labels, drawn by leverage, from which all other labels follow linearly.

Wei Bi and James Kwok, "Efficient multi-label classification with many labels", ICML 2013 (multi-label classification by
column subset selection).

Objective: choose k columns C = Y[:, chosen] from which the rest can be told by least squares,

    min over C of ‖Y − C C⁺ Y‖²,
    then W = argmin ‖C − X W‖² + λ ‖W‖²,        scores x W C⁺ Y.

The choice is random: with the k leading right singular vectors V (L, k) of Y, label j has the leverage ‖V_j‖², which
sums to k over the labels; labels are drawn with probabilities in proportion until k distinct ones are found.

Cost of training: singular vectors by the eigenvectors of YᵀY, L³ and L² numbers, where there are few labels, else by
Lanczos iterations of nnz(Y) k and L k numbers; then the ridge regression of k targets, memory n k; then CᵀC and CᵀY,
k² L. Prediction of a point: d̄ k + k L. The model is (d + L) k numbers.

Where we differ from the paper: it reports classifiers of any kind for the chosen labels, we use ridge regression as the
other methods of this family do; scores are ranked, not rounded; singular vectors of singular value zero, which are
arbitrary, have no part in the leverage.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_L2, TRIED_SCALES, bias, l2, share_or_number
from neartag.core.method import Method, SearchSpace

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="ml_cssp",
    title="ML-CSSP",
    summary="regression of some labels, drawn by leverage, from which the others follow linearly",
    reference="Bi, Kwok 2013",
    description=__doc__,
    estimator="neartag.comparators.ml_cssp.classifier:MLCSSPClassifier",
    model="neartag.comparators.ml_cssp.classifier:MLCSSPModel",
    parameters=(
        share_or_number("columns", "labels chosen, k"),
        l2(1.0, "L2 penalty of the regression, λ"),
        bias(1.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"bias": 0.3},
        "delicious": {"columns": 0.8, "l2": 3.0},
        "mediamill": {"l2": 1e-4, "bias": 0.0, "row_scale": "raw"},
        "eurlex": {"columns": 0.8, "bias": 0.0},
    },
    search_space=SearchSpace({"columns": ["auto", 0.5], "l2": [*TRIED_L2, 1e-3], "bias": [1.0, 0.0], **TRIED_SCALES}),
    colour="#00665a",
    place=6,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for
