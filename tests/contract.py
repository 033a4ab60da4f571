"""What every classifier of the package must keep: a test class inherits ClassifierContract and gives make_model().

    class TestThis(ClassifierContract):
        def make_model(self, **changes):
            return ThisClassifier(**{"random_state": 0, **changes})

The settings that make_model gives must suit a few hundred points; everything else is checked here. A class for other
settings of the same classifier inherits VariantContract.
"""

from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from neartag import store
from neartag.core.errors import ModelError, ParameterError
from neartag.data import synthetic

# scikit-learn's own checks that cannot apply, each with the reason.
ONE_COLUMN = (
    "gives Y as one column of classes and scores it as a vector; a label matrix of one column is no class vector"
)
MULTICLASS = "gives Y more than two classes in one column; Y is an indicator matrix of zeros and ones"
SPARSE_OUT = "wants dense predictions; with thousands of labels they are sparse, and never a dense n × L"
EXEMPT = {
    "check_fit_score_takes_y": ONE_COLUMN,
    "check_pipeline_consistency": ONE_COLUMN,
    "check_classifiers_train": ONE_COLUMN,
    "check_estimators_dtypes": MULTICLASS,
    "check_classifier_data_not_an_array": MULTICLASS,
    "check_classifiers_classes": MULTICLASS,
    "check_fit2d_1feature": MULTICLASS,
    "check_classifier_not_supporting_multiclass": "wants the words 'only binary classification'; these are multi-label",
    "check_dtype_object": "wants a TypeError for objects in X; our errors about data are all ValueErrors",
    "check_classifier_multioutput": SPARSE_OUT,
    "check_classifiers_multilabel_representation_invariance": SPARSE_OUT,
    "check_classifiers_multilabel_output_format_predict": SPARSE_OUT,
    "check_classifiers_multilabel_output_format_decision_function": SPARSE_OUT,
}
NEW_TAGS = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 6)

K = 5  # labels asked for
_fitted: dict[type, object] = {}  # the model of each class that inherits the contract
_answers: dict[tuple[type, str], Answer] = {}  # by the same classes, and the form of the features


class Answer(NamedTuple):
    """What a model says of new points after training, with features in one of the forms below."""

    labels: np.ndarray  # (80, K)
    scores: np.ndarray  # (80, K)
    decision: np.ndarray  # (80, 30)
    kept: bool  # whether everything that went in is as it was


class Problem(NamedTuple):
    """Points to learn from and points to tag; feature values are small whole numbers, so that int arrays hold them."""

    X: csr_matrix  # (240, 150)
    Y: csr_matrix  # (240, 30), the last label never seen
    X_new: csr_matrix  # (80, 150)
    Y_new: csr_matrix  # (80, 30)


@cache
def problem() -> Problem:
    """Return a heavy-tailed, learnable problem; shared, so tests must not write to it."""
    made = synthetic.make(320, 150, 29, 18, 2.5, seed=3)
    X = made.X.astype(np.float32)
    X.data = np.ceil(8 * X.data).astype(np.float32)
    Y = csr_matrix(sparse.hstack([made.Y, csr_matrix((320, 1), dtype=np.float32)], format="csr"))
    return Problem(X[:240], Y[:240], X[240:], Y[240:])


def most_frequent_hits(Y: csr_matrix, Y_new: csr_matrix) -> float:
    """Return the P@1 of always giving the most frequent label: the floor of anything that learns."""
    return float(Y_new[:, int(np.asarray(Y.sum(axis=0)).argmax())].mean())


def hits_at_1(labels: np.ndarray, Y_new: csr_matrix) -> float:
    """Return the share of points whose first label is right."""
    return float(np.mean([label >= 0 and Y_new[row, label] for row, label in enumerate(labels[:, 0])]))


def unsorted(matrix: csr_matrix) -> csr_matrix:
    """Return the same matrix with each row's entries in falling order of column and the first entry split in two."""
    indptr, indices, data = [0], [], []
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        columns, values = list(matrix.indices[part][::-1]), list(matrix.data[part][::-1])
        if columns:
            columns, values = [*columns, columns[0]], [*values, values[0] / 2]
            values[0] /= 2
        indices += columns
        data += values
        indptr.append(len(indices))
    return csr_matrix((np.array(data, matrix.dtype), indices, indptr), shape=matrix.shape)


def wide_indices(matrix: csr_matrix) -> csr_matrix:
    """Return the same matrix with 64-bit indices, as matrices of many entries have."""
    other = matrix.copy()
    other.indices, other.indptr = other.indices.astype(np.int64), other.indptr.astype(np.int64)
    return other


# The same features in other forms; a sparse one must give the very same predictions.
SPARSE_FORMS = {
    "csr_array": csr_array,
    "csc_matrix": csc_matrix,
    "coo_matrix": coo_matrix,
    "float64": lambda X: X.astype(np.float64),
    "int": lambda X: X.astype(np.int64),
    "wide indices": wide_indices,
    "unsorted with duplicates": unsorted,
    "unsorted float64 with duplicates": lambda X: unsorted(X.astype(np.float64)),
}
DENSE_FORMS = {
    "dense float64": lambda X: X.toarray().astype(np.float64),
    "dense float32": lambda X: X.toarray(),
    "dense float32 in Fortran order": lambda X: np.asfortranarray(X.toarray()),
    "dense int": lambda X: X.toarray().astype(np.int64),
    "lists": lambda X: X.toarray().tolist(),
}
LABEL_FORMS = {
    "csr_array": csr_array,
    "csc_matrix": csc_matrix,
    "sparse bool": lambda Y: Y.astype(bool),
    "dense bool": lambda Y: Y.toarray().astype(bool),
    "dense int": lambda Y: Y.toarray().astype(int),
    "dense float": lambda Y: Y.toarray(),
    "explicit zeros": lambda Y: csr_matrix(
        (np.append(Y.data, 0), np.append(Y.indices, 0), [*Y.indptr[:-1], Y.nnz + 1])
    ),
}


def snapshot(matrix: object) -> list[bytes]:
    """Return the bytes of a matrix's arrays, to see later whether they are still the same."""
    if sparse.issparse(matrix):
        names = [name for name in ("data", "indices", "indptr", "row", "col") if hasattr(matrix, name)]
        return [np.asarray(getattr(matrix, name)).tobytes() for name in names]
    return [np.asarray(matrix).tobytes()]


def assert_well_formed(labels: np.ndarray, scores: np.ndarray, n: int, k: int, n_labels: int) -> None:
    """Hold what predict_topk promises of any answer."""
    assert isinstance(labels, np.ndarray)
    assert isinstance(scores, np.ndarray)
    assert labels.shape == scores.shape == (n, k)
    assert np.issubdtype(labels.dtype, np.signedinteger)
    assert np.issubdtype(scores.dtype, np.floating)
    assert ((labels >= -1) & (labels < n_labels)).all()
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores, axis=1) <= 0).all(), "scores must fall"
    missing = labels < 0
    assert (scores[missing] == 0).all()
    assert (missing[:, 1:] >= missing[:, :-1]).all(), "−1 stands only at the end"
    for row in labels:
        given = row[row >= 0]
        assert len(set(given)) == len(given), "a label stands twice"


def assert_the_same_when_loaded(classifier, folder) -> None:
    """Hold that a fitted classifier, saved and loaded, predicts the same to the last bit."""
    store.save(classifier, folder)
    labels, scores = classifier.predict_topk(problem().X_new, K)
    found, again = store.load(folder).model.predict_topk(problem().X_new, K)
    assert np.array_equal(labels, found)
    assert np.array_equal(scores, again)


def assert_refused_when_damaged(model, folder, **arrays) -> None:
    """Hold that a fitted model with these arrays in place of its own can be saved, but not loaded again."""
    harmed = copy.copy(model)
    for name, array in arrays.items():
        setattr(harmed, name, array)
    store.save(harmed, folder)
    with pytest.raises(ModelError, match=f"the state of kind '{model.kind}' cannot be read"):
        store.load(folder)


@pytest.mark.filterwarnings("ignore:with one cluster")  # X1 says so of the oddest sets, and rightly
class ClassifierContract:
    """Inherited by each classifier's tests."""

    def make_model(self, **changes):
        """Return an unfitted classifier with settings for a few hundred points; `changes` override them."""
        raise NotImplementedError

    def fitted(self):
        """Return the model fitted to the problem, made once a class.

        A test must not fit it again or set parameters.
        """
        if type(self) not in _fitted:
            _fitted[type(self)] = model = self.make_model()
            assert model.fit(problem().X, problem().Y) is model
        return _fitted[type(self)]

    def answer(self, form: str) -> Answer:
        """Return what a model of features in this form says. Each is fitted once a class, for all tests."""
        if (type(self), form) not in _answers:
            data, shape_it = problem(), {**SPARSE_FORMS, **DENSE_FORMS}[form]
            X, Y, X_new = shape_it(data.X), data.Y.copy(), shape_it(data.X_new)
            before = snapshot(X), snapshot(Y), snapshot(X_new)
            model = self.make_model().fit(X, Y)
            labels, scores = model.predict_topk(X_new, K)
            model.predict(X_new)
            decision = model.decision_function(X_new).toarray()
            kept = (snapshot(X), snapshot(Y), snapshot(X_new)) == before
            _answers[type(self), form] = Answer(labels, scores, decision, kept)
        return _answers[type(self), form]

    # ---- what comes out

    def test_fit_returns_the_model_itself(self):
        self.fitted()

    @pytest.mark.parametrize("k", [1, K, 30, 33])
    def test_top_k_is_well_formed(self, k):
        data = problem()
        labels, scores = self.fitted().predict_topk(data.X_new, k)
        assert_well_formed(labels, scores, 80, k, 30)
        if k > 30:  # there are no more labels than that
            assert (labels[:, 30:] == -1).all()

    def test_fewer_labels_asked_for_are_the_first_of_more(self):
        data = problem()
        model = self.fitted()
        few, some = model.predict_topk(data.X_new, 2), model.predict_topk(data.X_new, K)
        assert np.array_equal(few[0], some[0][:, :2])
        assert np.array_equal(few[1], some[1][:, :2])

    def test_k_may_be_a_numpy_integer_and_is_5_unless_told(self):
        data = problem()
        model = self.fitted()
        assert np.array_equal(model.predict_topk(data.X_new)[0], model.predict_topk(data.X_new, np.int64(5))[0])

    def test_a_label_never_seen_is_never_given(self):
        labels, _ = self.fitted().predict_topk(problem().X_new, 30)
        assert not (labels == 29).any()

    def test_decision_function_says_the_same_as_top_k(self):
        data = problem()
        frequency = np.asarray(data.Y.sum(axis=0)).ravel()
        model = self.fitted()
        X = sparse.vstack([data.X_new, csr_matrix((1, 150), dtype=np.float32)], format="csr")  # one without features
        scores = model.decision_function(X)
        assert sparse.issparse(scores)
        assert scores.format == "csr"
        assert scores.shape == (81, 30)
        assert (scores.data > 0).all()
        labels, top = model.predict_topk(X, 30)
        for row in range(81):
            given = scores[[row]].toarray().ravel()
            voted = np.flatnonzero(given)
            order = sorted(voted, key=lambda label: (-given[label], -frequency[label], label))
            assert labels[row, : len(order)].tolist() == order, f"row {row}"
            assert (labels[row, len(order) :] == -1).all(), f"row {row}"
            assert np.array_equal(top[row, : len(order)], given[order])

    @pytest.mark.parametrize("threshold", [0.2, 0.5])
    def test_predict_is_the_decision_at_or_above_the_threshold(self, threshold):
        data = problem()
        model = copy.deepcopy(self.fitted()).set_params(threshold=threshold)
        indicator = model.predict(data.X_new)
        assert sparse.issparse(indicator)
        assert indicator.format == "csr"
        assert indicator.shape == (80, 30)
        assert (indicator.data == 1).all()
        assert np.array_equal(indicator.toarray() == 1, model.decision_function(data.X_new).toarray() >= threshold)
        assert indicator.nnz

    def test_it_learns(self):
        data = problem()
        labels, _ = self.fitted().predict_topk(data.X_new, 1)
        assert hits_at_1(labels, data.Y_new) > most_frequent_hits(data.Y, data.Y_new) + 0.15

    # ---- what goes in

    @pytest.mark.parametrize("form", SPARSE_FORMS)
    def test_sparse_features_of_any_form_give_the_same_predictions(self, form):
        labels, scores = self.fitted().predict_topk(problem().X_new, K)
        found = self.answer(form)
        assert np.array_equal(labels, found.labels)
        assert np.array_equal(scores, found.scores)

    @pytest.mark.parametrize("form", DENSE_FORMS)
    def test_dense_features_give_the_same_predictions(self, form):
        # Dense products round otherwise than sparse ones, so scores agree nearly, not to the last bit.
        wanted = self.fitted().decision_function(problem().X_new).toarray()
        assert np.abs(self.answer(form).decision - wanted).max() < 1e-3

    @pytest.mark.parametrize("form", LABEL_FORMS)
    def test_labels_of_any_form_give_the_same_predictions(self, form):
        data = problem()
        labels, scores = self.fitted().predict_topk(data.X_new, K)
        found, shares = self.make_model().fit(data.X, LABEL_FORMS[form](data.Y)).predict_topk(data.X_new, K)
        assert np.array_equal(labels, found)
        assert np.array_equal(scores, shares)

    @pytest.mark.parametrize("form", [*SPARSE_FORMS, *DENSE_FORMS])
    def test_what_goes_in_is_left_as_it_was(self, form):
        assert self.answer(form).kept

    def test_unsorted_label_rows_are_left_as_they_were(self):
        data = problem()
        Y = data.Y.copy()
        Y.indices = np.concatenate([np.sort(row.indices)[::-1] for row in Y]).astype(Y.indices.dtype)
        Y.has_sorted_indices = False
        before = snapshot(Y)
        found = self.make_model().fit(data.X, Y).predict_topk(data.X_new, K)
        assert snapshot(Y) == before
        assert np.array_equal(found[0], self.fitted().predict_topk(data.X_new, K)[0])

    # ---- scikit-learn's conventions

    def test_parameters_are_stored_as_given_and_cloned(self):
        model = self.make_model(random_state=11)
        parameters = model.get_params()
        assert parameters["random_state"] == 11
        assert clone(model).get_params() == parameters
        assert model.set_params(random_state=12) is model
        assert model.get_params()["random_state"] == 12
        model.fit(problem().X, problem().Y)
        assert model.get_params() == {**parameters, "random_state": 12}, "fit must not change parameters"

    def test_a_clone_is_not_fitted(self):
        with pytest.raises(NotFittedError):
            clone(self.fitted()).predict_topk(problem().X_new, 1)

    @pytest.mark.parametrize("method", ["predict", "predict_topk", "decision_function"])
    def test_not_fitted_is_said(self, method):
        with pytest.raises(NotFittedError):
            getattr(self.make_model(), method)(problem().X_new)

    def test_a_second_fit_forgets_the_first(self):
        data = problem()
        model = self.make_model().fit(data.X, data.Y)
        # Other points, fewer features and fewer labels: nothing of the first fit fits any more.
        X, Y = data.X_new[:, :100], data.Y_new[:, :20]
        again = model.fit(X, Y).predict_topk(X, K)
        fresh = self.make_model().fit(X, Y).predict_topk(X, K)
        assert np.array_equal(again[0], fresh[0])
        assert np.array_equal(again[1], fresh[1])
        assert model.n_features_in_ == 100

    @pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
    def test_a_copy_predicts_the_same(self, copied):
        data = problem()
        model = self.fitted()
        labels, scores = model.predict_topk(data.X_new, K)
        found, shares = copied(model).predict_topk(data.X_new, K)
        assert np.array_equal(labels, found)
        assert np.array_equal(scores, shares)

    def test_the_same_seed_gives_the_same_predictions(self):
        data = problem()
        labels, scores = self.make_model(random_state=4).fit(data.X, data.Y).predict_topk(data.X_new, K)
        found, shares = self.make_model(random_state=4).fit(data.X, data.Y).predict_topk(data.X_new, K)
        assert np.array_equal(labels, found)
        assert np.array_equal(scores, shares)

    # ---- what is refused, by name and value

    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    @pytest.mark.parametrize("dense", [False, True])
    def test_features_that_are_no_numbers(self, value, word, dense):
        data = problem()
        bad = data.X.copy()
        bad.data[bad.indptr[7]] = value
        bad = bad.toarray() if dense else bad
        with pytest.raises(ParameterError, match=rf"\bX\b.*{word}.*\b7\b"):
            self.make_model().fit(bad, data.Y)
        with pytest.raises(ParameterError, match=rf"\bX\b.*{word}.*\b7\b"):
            self.fitted().predict_topk(bad, 1)

    def test_features_beyond_single_precision(self):
        data = problem()
        with pytest.raises(ParameterError, match=r"\bX\b.*large"):
            self.make_model().fit(data.X.astype(np.float64) * 1e300, data.Y)

    @pytest.mark.parametrize("value", [2, -1, 0.5, np.nan, np.inf])
    @pytest.mark.parametrize("dense", [False, True])
    def test_labels_that_are_not_zero_or_one(self, value, dense):
        data = problem()
        Y = data.Y.copy()
        Y.data[3] = value
        word = {"nan": "(?i:nan)", "inf": "(?i:inf)"}.get(str(value), str(value))
        with pytest.raises(ParameterError, match=rf"\bY\b.*{word}"):
            self.make_model().fit(data.X, Y.toarray() if dense else Y)

    def test_a_label_given_twice(self):
        data = problem()
        Y = csr_matrix(
            (np.append(data.Y.data, [1, 1]), np.append(data.Y.indices, [4, 4]), [*data.Y.indptr[:-1], data.Y.nnz + 2])
        )
        with pytest.raises(ParameterError, match=r"\bY\b.*2"):
            self.make_model().fit(data.X, Y)

    def test_as_many_label_rows_as_points(self):
        data = problem()
        with pytest.raises(ParameterError, match=r"X.*240.*Y.*239"):
            self.make_model().fit(data.X, data.Y[:239])

    # Nothing; a class a point; names; lists of names, the likeliest mistake; no label at all.
    @pytest.mark.parametrize("Y", [None, [0, 1, 1], ["a", "b", "c"], [["a"], ["b"], ["c", "d"]], np.zeros((3, 0))])
    def test_labels_that_are_no_indicator_matrix(self, Y):
        with pytest.raises(ParameterError, match=r"\b[yY]\b"):
            self.make_model().fit(problem().X[:3], Y)

    @pytest.mark.parametrize("k", [0, -1, True, 2.0, "5", None])
    def test_k_must_be_a_whole_number_above_zero(self, k):
        with pytest.raises(ParameterError, match=rf"\bk\b.*{k!r}"):
            self.fitted().predict_topk(problem().X_new, k)

    @pytest.mark.parametrize("method", ["predict", "predict_topk", "decision_function"])
    @pytest.mark.parametrize("width", [149, 151])
    def test_the_number_of_features_must_be_that_of_training(self, method, width):
        X = csr_matrix((4, width), dtype=np.float32)
        with pytest.raises(ParameterError, match=rf"X has {width} features.*150"):
            getattr(self.fitted(), method)(X)

    def test_features_of_one_dimension(self):
        data = problem()
        for X in self.one_dimensional():  # as an array, and sparse
            with pytest.raises(ParameterError, match=r"\bX\b.*\b1\b"):
                self.make_model().fit(X, data.Y[:1])
            with pytest.raises(ParameterError, match=r"\bX\b.*\b1\b"):
                self.fitted().predict_topk(X, 1)

    @staticmethod
    def one_dimensional():
        row = problem().X[:1].toarray().ravel()
        yield row
        if sparse.coo_array(row).ndim == 1:  # before scipy 1.13 sparse arrays had two dimensions always
            yield sparse.coo_array(row)

    @pytest.mark.parametrize("X", [[["a", "b"]], [[1j, 0]], [[None, object()]], [[1.0, 2.0], [3.0]]])
    def test_features_that_are_words(self, X):
        with pytest.raises(ParameterError, match=r"\bX\b"):
            self.make_model().fit(X, [[1]])

    @pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
    @pytest.mark.parametrize("form", [csr_matrix, np.zeros])
    def test_nothing_to_learn_from(self, shape, form):
        with pytest.raises(ParameterError, match=rf"\bX\b.*\b0\b.*\({shape[0]}, {shape[1]}\)"):
            self.make_model().fit(form(shape), np.zeros((shape[0], 2)))

    def test_no_points_to_tag_give_no_rows(self):
        model = self.fitted()
        for X in (csr_matrix((0, 150), dtype=np.float32), np.zeros((0, 150))):
            labels, scores = model.predict_topk(X, K)
            assert labels.shape == scores.shape == (0, K)
            assert model.predict(X).shape == model.decision_function(X).shape == (0, 30)

    # ---- what is odd but allowed

    def test_points_without_labels(self):
        data = problem()
        Y = data.Y.copy().tolil()
        Y[::3] = 0
        labels, scores = self.make_model().fit(data.X, Y.tocsr()).predict_topk(data.X_new, K)
        assert_well_formed(labels, scores, 80, K, 30)
        assert hits_at_1(labels, data.Y_new) > most_frequent_hits(data.Y, data.Y_new) + 0.1

    def test_no_point_has_a_label(self):
        data = problem()
        labels, scores = self.make_model().fit(data.X, csr_matrix((240, 30))).predict_topk(data.X_new, K)
        assert (labels == -1).all()
        assert (scores == 0).all()

    def test_points_without_features(self):
        data = problem()
        X = data.X.copy().tolil()
        X[::4] = 0
        model = self.make_model().fit(X.tocsr(), data.Y)
        empty = csr_matrix((2, 150), dtype=np.float32)
        zeros_stored = csr_matrix((np.zeros(2, np.float32), [3, 5], [0, 1, 2]), shape=(2, 150))
        answers = [model.predict_topk(form, K) for form in (empty, zeros_stored, np.zeros((2, 150)))]
        for labels, scores in answers:
            assert_well_formed(labels, scores, 2, K, 30)
            assert np.array_equal(labels, answers[0][0])
            assert np.array_equal(scores, answers[0][1])

    def test_no_point_has_a_feature(self):
        data = problem()
        model = self.make_model().fit(csr_matrix((240, 150), dtype=np.float32), data.Y)
        assert_well_formed(*model.predict_topk(data.X_new, K), 80, K, 30)

    def test_a_point_alone_is_tagged_as_among_others(self):
        data = problem()
        model = self.fitted()
        whole = model.decision_function(data.X_new).toarray()
        alone = np.vstack([model.decision_function(data.X_new[[row]]).toarray() for row in range(0, 80, 8)])
        assert np.abs(alone - whole[::8]).max() < 1e-5

    def test_duplicate_points(self):
        data = problem()
        X = sparse.vstack([data.X[:10]] * 12, format="csr")
        Y = sparse.vstack([data.Y[:10]] * 12, format="csr")
        labels, scores = self.make_model().fit(X, Y).predict_topk(data.X[:10], K)
        assert_well_formed(labels, scores, 10, K, 30)

    def test_all_points_alike(self):
        data = problem()
        X = sparse.vstack([data.X[:1]] * 50, format="csr")
        labels, scores = self.make_model().fit(X, data.Y[:50]).predict_topk(data.X_new, K)
        assert_well_formed(labels, scores, 80, K, 30)

    def test_a_single_point(self):
        data = problem()
        labels, scores = self.make_model().fit(data.X[:1], data.Y[:1]).predict_topk(data.X[:1], K)
        assert_well_formed(labels, scores, 1, K, 30)
        assert set(labels[0][labels[0] >= 0]) == set(data.Y[:1].indices)

    @pytest.mark.parametrize("n", [2, 3, 7])
    def test_fewer_points_than_dimensions(self, n):
        data = problem()
        labels, scores = self.make_model().fit(data.X[:n], data.Y[:n]).predict_topk(data.X_new, K)
        assert_well_formed(labels, scores, 80, K, 30)

    def test_one_label(self):
        data = problem()
        Y = csr_matrix((np.asarray(data.Y.sum(axis=1)) > 2).astype(np.float32))  # (240, 1)
        model = self.make_model().fit(data.X, Y)
        labels, scores = model.predict_topk(data.X_new, 3)
        assert_well_formed(labels, scores, 80, 3, 1)
        assert (labels[:, 1:] == -1).all()
        assert model.predict(data.X_new).shape == (80, 1)

    def test_one_feature(self):
        data = problem()
        column = csr_matrix(np.ones((240, 1), np.float32))
        labels, scores = self.make_model().fit(column, data.Y).predict_topk(column[:5], K)
        assert_well_formed(labels, scores, 5, K, 30)

    def test_every_point_has_every_label(self):
        data = problem()
        labels, scores = self.make_model().fit(data.X, np.ones((240, 6))).predict_topk(data.X_new, K)
        assert_well_formed(labels, scores, 80, K, 6)

    def test_labels_may_be_more_than_points(self):
        data = problem()
        Y = csr_matrix((data.Y.data, data.Y.indices * 1000, data.Y.indptr), shape=(240, 30_000))
        labels, scores = self.make_model().fit(data.X, Y).predict_topk(data.X_new, K)
        assert_well_formed(labels, scores, 80, K, 30_000)
        wanted, _ = self.fitted().predict_topk(data.X_new, K)
        assert np.array_equal(labels, np.where(wanted >= 0, wanted * 1000, -1))


class VariantContract(ClassifierContract):
    """For other settings of a classifier whose contract is tested elsewhere.

    Labels are brought into one form before any setting is looked at, so here one form of them is enough.
    """

    @pytest.mark.parametrize("form", ["explicit zeros"])
    def test_labels_of_any_form_give_the_same_predictions(self, form):
        super().test_labels_of_any_form_give_the_same_predictions(form)
