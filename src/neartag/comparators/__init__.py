"""Every method the paper compares against, behind the same interface: one file a method, imported when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from neartag.comparators import parameters
from neartag.core.errors import ParameterError
from neartag.core.parameters import Parameter
from neartag.x1.parameters import PARAMETERS as X1_PARAMETERS

# This module must stay light: the command line reads it for --help.


@dataclass(frozen=True)
class Method:
    """A method by name: what it is, where it is, and what can be set."""

    name: str
    title: str
    summary: str
    reference: str
    module: str
    class_name: str  # of the estimator; that of the fitted model has "Model" where this has "Classifier"
    parameters: tuple[Parameter, ...]

    def classifier(self) -> Any:
        """Return the estimator's class, imported now."""
        return getattr(import_module(self.module), self.class_name)

    @property
    def model_path(self) -> str:
        """Where the fitted model's class is, as the store names it."""
        return f"{self.module}:{self.class_name.replace('Classifier', 'Model')}"


def _comparator(name: str, module: str, class_name: str, title: str, summary: str, reference: str) -> Method:
    place = f"neartag.comparators.{module}"
    return Method(name, title, summary, reference, place, class_name, parameters.TABLES[name])


_ALL = (
    Method(
        "x1",
        "X1 (SLEEC)",
        "local embeddings that keep each label vector's nearest neighbours, and a vote of nearest neighbours",
        "Bhatia, Jain, Kar, Varma, Jain 2015",
        "neartag.x1.classifier",
        "X1Classifier",
        X1_PARAMETERS,
    ),
    _comparator(
        "leml",
        "leml",
        "LEMLClassifier",
        "LEML",
        "low-rank linear regression of the labels, both factors by conjugate gradients",
        "Yu, Jain, Kar, Dhillon 2014",
    ),
    _comparator(
        "local_leml",
        "local_leml",
        "LocalLEMLClassifier",
        "LocalLEML",
        "LEML in each of X1's clusters, an ensemble over clusterings",
        "Bhatia, Jain, Kar, Varma, Jain 2015",
    ),
    _comparator(
        "wsabie",
        "wsabie",
        "WSABIEClassifier",
        "WSABIE",
        "a joint embedding of points and labels by the WARP loss, then a vote of nearest neighbours",
        "Weston, Bengio, Usunier 2011",
    ),
    _comparator(
        "cplst",
        "cplst",
        "CPLSTClassifier",
        "CPLST",
        "label directions that are both common and easy to predict, each by ridge regression",
        "Chen, Lin 2012",
    ),
    _comparator(
        "cs",
        "compressed_sensing",
        "CompressedSensingClassifier",
        "CS",
        "random projections of the labels, linear regression, sparse decoding",
        "Hsu, Kakade, Langford, Zhang 2009",
    ),
    _comparator(
        "ml_cssp",
        "ml_cssp",
        "MLCSSPClassifier",
        "ML-CSSP",
        "regression of some labels, drawn by leverage, from which the others follow linearly",
        "Bi, Kwok 2013",
    ),
    _comparator(
        "fastxml",
        "fastxml",
        "FastXMLClassifier",
        "FastXML",
        "an ensemble of trees whose nodes part the points by an nDCG loss",
        "Prabhu, Varma 2014",
    ),
    _comparator(
        "lpsr",
        "lpsr",
        "LPSRClassifier",
        "LPSR",
        "a partition of the points, each part with a few labels that a base scorer ranks",
        "Weston, Makadia, Yee 2013",
    ),
    _comparator(
        "one_vs_all",
        "one_vs_all",
        "OneVsAllClassifier",
        "1-vs-All",
        "a linear support vector machine for each label",
        "Fan, Chang, Hsieh, Wang, Lin 2008 (liblinear)",
    ),
    _comparator(
        "knn",
        "knn",
        "KNNClassifier",
        "kNN",
        "a vote of the nearest training points by the features themselves",
        "Cover, Hart 1967",
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}


def get(name: str) -> Method:
    """Return the method of this name; ParameterError names those there are."""
    if name not in METHODS:
        raise ParameterError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
    return METHODS[name]
