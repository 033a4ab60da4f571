"""The registry of methods: each is there, documented, made from its table, and kept by the same store."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract import EXEMPT, NEW_TAGS, assert_well_formed, problem
from neartag import presets, store
from neartag.comparators.shared.model import dimension
from neartag.comparators.shared.rows import prepare_rows
from neartag.comparators.shared.scores import to_unit_interval, top_columns
from neartag.core.errors import ModelError, ParameterError
from neartag.core.memory import in_use
from neartag.core.parameters import check_settings, defaults
from neartag.methods import registry

METHODS = registry.METHODS.builtin()

OTHERS = [name for name in METHODS if name != "x1"]
# What makes a method quick on a few hundred points.
QUICK: dict[str, dict] = {
    "leml": {"rank": 12, "max_iter": 3},
    "local_leml": {"rank": 8, "max_iter": 3, "n_clusters": 2, "n_learners": 2},
    "wsabie": {"dim": 12, "epochs": 5},
    "fastxml": {"trees": 4},
    "lpsr": {"partitions": 3},
}


CHECKED = {"lpsr": {"scorer": "one_vs_all"}}  # naive Bayes takes no features below zero, and the checks have some
# float32 products of a batch round otherwise than those of a part of it, and these checks allow a tenth of that.
ROUNDED = [("wsabie", f"check_methods_{what}_invariance") for what in ("sample_order", "subset")]


def made(name: str, **changes):
    """Return an unfitted classifier of a method, quick to train."""
    return METHODS[name].estimator_class()(**{**QUICK.get(name, {}), "n_jobs": 1, **changes})


def test_the_registry_is_light():
    code = (
        "import sys, neartag.presets; from neartag.methods.registry import METHODS; METHODS.all(); "
        "print([n for n in ('numpy', 'sklearn') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"'lmel'.*\bleml\b"):
        registry.get("lmel")


@pytest.mark.parametrize("name", METHODS)
def test_the_constructor_is_the_table(name):
    method = METHODS[name]
    estimator = method.estimator_class()
    signature = inspect.signature(estimator)
    # An old name of a parameter is still taken, with a default that says so.
    old = {alias: "deprecated" for parameter in method.parameters for alias in parameter.aliases}
    expected = {**defaults(method.parameters), **old}
    assert {each.name: each.default for each in signature.parameters.values()} == expected
    assert estimator().get_params() == expected
    for parameter in method.parameters:
        assert parameter.name in estimator.__doc__
        parameter.check(parameter.default)


@pytest.mark.parametrize("name", OTHERS)
def test_the_docstring_tells_the_reference_and_the_cost(name):
    text = METHODS[name].description
    assert METHODS[name].reference.split(",")[0].split()[0] in text, "the first author"
    assert "Objective" in text
    assert "Cost" in text or "Complexity" in text


@pytest.mark.parametrize("name", OTHERS)
def test_the_docstrings_example_runs(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(METHODS[name].estimator_class(), globs={})
    assert doctest.DocTestRunner().run(example) == (0, 5)


@pytest.mark.parametrize("name", OTHERS)
def test_a_method_is_found_by_its_folder_and_gives_its_classes(name):
    package = importlib.import_module(f"neartag.comparators.{name}")
    assert package.METHOD is METHODS[name]
    for given in (METHODS[name].estimator_class(), METHODS[name].model_class()):
        assert getattr(package, given.__name__) is given
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = package.Nothing


@pytest.mark.parametrize("name", OTHERS)
def test_an_unknown_parameter_is_a_type_error(name):
    with pytest.raises(TypeError, match="no_such_thing"):
        made(name, no_such_thing=1)


@pytest.mark.parametrize("name", OTHERS)
def test_saved_and_loaded_it_predicts_the_same(name, tmp_path):
    data = problem()
    classifier = made(name).fit(data.X, data.Y)
    labels, scores = classifier.predict_topk(data.X_new, 5)
    store.save(classifier, tmp_path / "model", label_names=[f"label {n}" for n in range(30)])
    stored = store.load(tmp_path / "model")
    assert stored.info["kind"] == name
    found, shares = stored.model.predict_topk(data.X_new, 5)
    assert np.array_equal(labels, found)
    assert np.array_equal(scores, shares)
    assert stored.model.settings == classifier.model_.settings
    first = {path.name for path in (tmp_path / "model").iterdir()}
    store.save(stored.model, tmp_path / "again", label_names=stored.label_names)
    assert {path.name for path in (tmp_path / "again").iterdir()} == first, "the same files, so the same bytes"


@pytest.mark.parametrize("name", OTHERS)
def test_a_crafted_state_is_refused(name, tmp_path):
    data = problem()
    settings, parts = made(name).fit(data.X, data.Y).model_.to_state()
    model_class = type(made(name).fit(data.X, data.Y).model_)
    for part, arrays in parts.items():
        for key, array in arrays.items():
            if array.dtype.kind not in "iu" or not array.size:
                continue
            for value in (-7, 2**30):
                harmed = array.copy()
                harmed.flat[array.size // 2] = value
                crafted = {**parts, part: {**arrays, key: harmed}}
                try:
                    model = model_class.from_state(settings, crafted)
                except (ValueError, LookupError):
                    continue
                # Where it is not refused, it must at least be harmless.
                labels, scores = model.predict_topk(data.X_new, 5)
                assert_well_formed(labels, np.clip(scores, 0, 1), 80, 5, 30)
        with pytest.raises((ValueError, LookupError)):
            model_class.from_state(settings, {**parts, part: {}})


def test_a_damaged_folder_names_the_kind(tmp_path):
    data = problem()
    classifier = made("knn").fit(data.X, data.Y)
    classifier.model_.Y = classifier.model_.Y[:-1]
    store.save(classifier, tmp_path / "model")
    with pytest.raises(ModelError, match="'knn'"):
        store.load(tmp_path / "model")


@pytest.mark.parametrize("name", OTHERS)
def test_what_needs_more_memory_than_allowed_is_refused_with_its_need(name):
    data = problem()
    wide = csr_matrix((data.X.data, data.X.indices * 400, data.X.indptr), shape=(240, 60_000))
    limit = in_use() + 20_000
    with pytest.raises(ParameterError, match=rf"{name} would need about [0-9.]+ [KMG]B .*240 points"):
        made(name, max_memory=limit).fit(wide, data.Y)


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_model_whatever_the_number_of_jobs(name):
    data = problem()
    states = [made(name, n_jobs=jobs).fit(data.X, data.Y).model_.to_state() for jobs in (1, 2)]
    assert states[0][0] == states[1][0]
    for part, arrays in states[0][1].items():
        for key, array in arrays.items():
            assert array.tobytes() == states[1][1][part][key].tobytes(), f"{part}/{key}"


@pytest.mark.parametrize("name", OTHERS)
def test_no_training_point_has_a_label(name):
    data = problem()
    with pytest.warns(UserWarning, match="no training point has a label"):
        classifier = made(name).fit(data.X, csr_matrix((240, 30)))
    labels, scores = classifier.predict_topk(data.X_new, 5)
    assert (labels == -1).all()
    assert (scores == 0).all()
    assert classifier.predict(data.X_new).nnz == 0


@pytest.mark.parametrize("method", OTHERS)
def test_presets_are_settings_that_the_method_has(method):
    for name, settings in METHODS[method].presets.items():
        check_settings(settings, METHODS[method].parameters, method)
        assert presets.get(name, method) == settings


def test_a_preset_that_a_method_has_not_is_refused():
    with pytest.raises(ParameterError, match=r"'nothing' of leml"):
        presets.get("nothing", "leml")


def test_scores_brought_between_0_and_1_keep_their_order():
    raw = np.float32([-1e6, -3, -0.1, 0, 0.4, 0.5, 0.50001, 1, 40, 1e6])
    found = to_unit_interval(raw, 0.5)
    assert (np.diff(found) > 0).all()
    assert found[5] == 0.5
    assert found.min() >= 0
    assert found.max() <= 1


def test_scores_beyond_all_numbers_stay_scores():
    found = to_unit_interval(np.float32([-np.inf, np.nan, np.inf]), 0.5)
    assert np.array_equal(found, [0, 0.5, 1])


def test_dimensions_are_shares_below_one_and_numbers_from_one_on():
    assert [dimension(given, 100) for given in (0.8, 0.001, 1, 30.0, "auto")] == [80, 1, 1, 30, 80]
    assert dimension("auto", 10_000) == 500


def test_the_best_columns_of_sparse_and_dense_scores_are_the_same():
    scores = np.random.default_rng(0).integers(0, 4, (40, 12)).astype(np.float32)
    dense, sparse = top_columns(scores, 5, 1), top_columns(csr_matrix(scores), 5, 1)
    positive = dense[1] > 0
    assert np.array_equal(dense[0][positive], sparse[0][positive])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    assert np.array_equal(dense[0], order)


def test_rows_are_scaled_and_given_a_constant():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    unit = prepare_rows(X, {"row_scale": "unit", "bias": 2.0})
    assert np.allclose(unit, [[0.6, 0.8, 2.0], [0.0, 0.0, 2.0]])
    assert np.allclose(prepare_rows(X, {"row_scale": "raw"}), X)


@pytest.mark.skipif(not NEW_TAGS, reason="before 1.6 scikit-learn's checks know no multi-label-only classifier")
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([made(name, **CHECKED.get(name, {})) for name in OTHERS])
def test_scikit_learns_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    if name not in EXEMPT and (estimator.method.name, name) not in ROUNDED:
        check(estimator)


@pytest.mark.parametrize(
    ("name", "array"),
    [("cplst", "directions"), ("cs", "projections"), ("ml_cssp", "lift"), ("wsabie", "W"), ("wsabie", "Z")],
)
def test_a_sparse_matrix_where_a_dense_one_belongs_is_a_damaged_model(tmp_path, name, array):
    data = problem()
    model = made(name).fit(data.X, data.Y).model_
    setattr(model, array, csr_matrix(getattr(model, array)))
    store.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="cannot be read"):
        store.load(tmp_path / "model")
