"""A linear support vector machine for each label: the yardstick of accuracy where there are not too many labels.

Fan, Chang, Hsieh, Wang, Lin, "LIBLINEAR: a library for large linear classification", JMLR 2008, by scikit-learn.

Objective, for each label with signs sᵢ = ±1: minimise over w: ½‖w‖² + C · Σᵢ max(0, 1 − sᵢ·w·xᵢ)². A constant feature
of value `bias` takes the place of an intercept. A label's score is its margin w·x. A label that every training point
has cannot be told from anything, and its margin is 1 everywhere.

It is solved in the primal, by trust-region Newton steps. Liblinear's other solver, of the dual, draws random numbers
from one generator for the whole process, so that with several threads the weights would depend on who ran when; it is
not much quicker either.

Cost: some 10 to 50 passes over the entries a label, n · d̄ · L in all, with d̄ features a row. That is a matter of
minutes for thousands of labels and points, and of hours for 24,000 labels and 100,000 points. A point's prediction
takes the weights of its features, d̄ · L at most. Memory: 8 bytes a weight that is kept, d · L at most; twice that
while they are put in order.
"""

from __future__ import annotations

from neartag.comparators.shared.parameters import COMMON, TRIED_SCALES, bias
from neartag.core.method import Method, SearchSpace
from neartag.core.parameters import Parameter

# This module must stay light: the command line reads it for --help.
METHOD = Method(
    name="one_vs_all",
    title="1-vs-All",
    summary="a linear support vector machine for each label",
    reference="Fan, Chang, Hsieh, Wang, Lin 2008 (liblinear)",
    description=__doc__,
    estimator="neartag.comparators.one_vs_all.classifier:OneVsAllClassifier",
    model="neartag.comparators.one_vs_all.classifier:OneVsAllModel",
    parameters=(
        Parameter("C", float, 1.0, "cost of a training error", 1e-9, 1e9),
        Parameter(
            "keep_above", float, 0.01, "weights of no larger size (times the feature's, if above 1) are dropped", 0, 1e6
        ),
        bias(1.0),
        *COMMON,
    ),
    # Chosen on a held-out fifth of the training data by benchmarks/choose_comparators.py.
    presets={
        "bibtex": {"C": 0.4},
        "delicious": {"C": 0.3},
        "mediamill": {"row_scale": "raw", "C": 10.0},
        "eurlex": {},
    },
    search_space=SearchSpace({"C": [1.0, 0.1, 0.4, 3.0, 10.0], "bias": [1.0, 0.3], **TRIED_SCALES}),
    colour="#b2182b",
    place=9,
)
__getattr__ = METHOD.public_class  # the two classes, imported when asked for
