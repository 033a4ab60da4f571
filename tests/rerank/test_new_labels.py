"""Refined models to which points and labels are added, and from which they are forgotten."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_matrix

from contract import assert_well_formed, problem
from neartag import store
from neartag.data import synthetic
from neartag.data.documents import Document
from neartag.linalg.rows import as_rows, normalise
from neartag.rerank import new_labels
from neartag.rerank.new_labels import MIN_POINTS, NEW_LABEL_NEIGHBOURS, NEWEST_POINTS
from neartag.tagging.live import LiveTagger
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier
from neartag.x1.model import X1Model
from neartag.x1.update import add, forget
from refine_helpers import SMALL, in_plain_python

OPTIONS = {
    "plain": {},
    "clusters": {"n_learners": 2, "n_clusters": 3, "vote_distance": "euclidean", "precision": "int8"},
    "embeddings alone": {"feature_share": 0.0},
}
NEW = 30  # the first label that training does not know
_fitted: dict[str, X1Model] = {}


def trained(options="plain") -> X1Model:
    """Return a refined model of the problem, made once."""
    if options not in _fitted:
        _fitted[options] = X1Classifier(**{**SMALL, **OPTIONS[options]}).fit(problem().X, problem().Y).model_
    return _fitted[options]


def variants(count, seed=0, base=0):
    """Return unit rows that are much alike: some of a new point's words each, and a word of their own."""
    random = np.random.default_rng(seed)
    row = problem().X_new[[base]].toarray()[0]
    rows = np.array([row * (random.random(150) < 0.8) for _ in range(count)]).reshape(count, 150)
    rows[np.arange(count), random.integers(0, 150, count)] += 1
    return normalise(csr_matrix(rows.astype(np.float32)))


def having(labels, width=NEW + 1):
    """Return label rows of one label each."""
    labels = np.asarray(labels)
    return csr_matrix(
        (np.ones(len(labels), np.float32), labels, np.arange(len(labels) + 1)), shape=(len(labels), width)
    )


def with_new(count, options="plain", label=NEW):
    return add(trained(options), variants(count), having([label] * count, max(NEW, label + 1)))


def ranked(model, label=NEW):
    later = model.reranker.new_rankers
    return later is not None and bool(later.has(np.array([label]))[0])


def scores_of(model, rows, label=NEW):
    return model.decision_function(rows).toarray()[:, label]


# ---- a new label


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", [1, 2, MIN_POINTS - 1, MIN_POINTS, 20])
def test_a_new_label_is_found_at_once_as_surely_as_by_votes_alone(options, count):
    changes = {**OPTIONS[options], "refine": False, "vote_neighbours": trained(options).parameters["vote_neighbours"]}
    plain = X1Classifier(**{**SMALL, **changes}).fit(problem().X, problem().Y).model_
    alike = sparse.vstack([variants(20, seed) for seed in range(1, 6)], format="csr")
    found = {}
    for name, model in (("refined", trained(options)), ("votes", plain)):
        labels, scores = add(model, variants(count), having([NEW] * count)).predict_topk(alike, 5)
        assert_well_formed(labels, scores, 100, 5, NEW + 1)
        found[name] = int((labels == NEW).any(axis=1).sum())
    assert found["refined"] >= found["votes"] - 10, found  # of 100


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", [1, 2, MIN_POINTS, 20])
def test_a_new_label_is_told_of_similar_points_and_hardly_of_others(options, count):
    model = with_new(count, options)
    alike, others = scores_of(model, variants(20, seed=1)), scores_of(model, problem().X_new[1:])
    assert (alike > 0).all()
    assert alike.mean() > 3 * others.mean()
    assert not (trained(options).predict_topk(variants(20, seed=1), 5)[0] == NEW).any()


@pytest.mark.parametrize("count", range(1, 9))
def test_from_some_points_on_it_has_a_ranker(count):
    assert ranked(with_new(count)) == (count >= MIN_POINTS)


def test_the_ranker_tells_its_points_from_their_neighbours():
    model = with_new(12)
    later = model.reranker.new_rankers
    assert later.known.tolist() == [False] * NEW + [True]
    assert later.weights.shape == (NEW + 1, 150)
    column = np.full((240, 1), NEW, np.int32)
    own = later.margins(variants(12), column[:12], 1)
    others = later.margins(normalise(as_rows(problem().X)), column, 1)
    assert own.min() > 0 > others.mean()
    assert (others < own.min()).mean() > 0.95
    fresh = later.margins(variants(30, seed=2), column[:30], 1)
    assert (fresh > 0).mean() > 0.9


def test_with_a_ranker_it_is_sure():
    model = with_new(3 * MIN_POINTS)
    assert scores_of(model, variants(30, seed=3)).mean() > 0.5
    assert scores_of(model, problem().X_new).mean() < 0.1


def test_without_features_that_are_kept_votes_decide_alone():
    model = with_new(20, "embeddings alone")
    assert model.index is None
    assert model.reranker.new_rankers is None
    assert (model.predict_topk(variants(10, seed=1), 3)[0] == NEW).any(axis=1).all()


def test_a_label_of_the_trained_set_that_nobody_had_is_new_too():
    assert trained().frequency[29] == 0
    few, enough = with_new(MIN_POINTS - 1, label=29), with_new(MIN_POINTS, label=29)
    assert not ranked(few, 29)
    assert ranked(enough, 29)
    assert enough.n_labels == 30
    assert (enough.predict_topk(variants(10, seed=1), 5)[0] == 29).any(axis=1).all()


def test_labels_of_the_trained_set_keep_their_rankers():
    data, before = problem(), trained()
    more = add(before, normalise(as_rows(data.X_new)), data.Y_new)
    for model in (more, with_new(20), forget(before, np.arange(240) % 3 == 0)):
        assert model.reranker.rankers is before.reranker.rankers
    assert more.reranker.new_rankers is None, "no label of these is new"


def test_several_new_labels():
    rows = sparse.vstack([variants(8, base=0), variants(8, base=7), variants(3, base=9)], format="csr")
    model = add(trained(), rows, having([30] * 8 + [31] * 8 + [32] * 3, 33))
    assert [ranked(model, label) for label in (30, 31, 32)] == [True, True, False]
    for label, base in ((30, 0), (31, 7)):
        assert (model.predict_topk(variants(10, 5, base), 1)[0] == label).mean() > 0.6
    # Another label later, and the ones from before are still there.
    again = add(model, variants(6, base=11), having([33] * 6, 34))
    assert [ranked(again, label) for label in (30, 31, 32, 33)] == [True, True, False, True]
    assert again.reranker.new_rankers.weights.shape == (34, 150)


def test_new_labels_of_points_that_have_old_ones_too():
    data = problem()
    Y = sparse.hstack([data.Y_new[:12], csr_matrix(np.ones((12, 1), np.float32))], format="csr")
    model = add(trained(), normalise(as_rows(data.X_new[:12])), csr_matrix(Y))
    assert ranked(model)
    assert_well_formed(*model.predict_topk(data.X_new, 8), 80, 8, NEW + 1)


def test_points_without_labels_or_features_may_be_added():
    model = add(trained(), csr_matrix((3, 150), dtype=np.float32), csr_matrix((3, 31), dtype=np.float32))
    assert model.n_labels == 31
    assert model.reranker.new_rankers is None
    empty = add(trained(), csr_matrix((6, 150), dtype=np.float32), having([NEW] * 6))
    assert_well_formed(*empty.predict_topk(problem().X_new, 5), 80, 5, 31)


def test_adding_nothing_changes_nothing():
    data = problem()
    again = add(trained(), normalise(as_rows(data.X_new[:0])), data.Y_new[:0])
    assert np.array_equal(trained().predict_topk(data.X_new, 5)[1], again.predict_topk(data.X_new, 5)[1])


def test_a_model_without_refinement_gets_none():
    data = problem()
    plain = X1Classifier(**{**SMALL, "refine": False}).fit(data.X, data.Y).model_
    assert plain.reranker is None
    assert add(plain, variants(9), having([NEW] * 9)).reranker is None


# ---- forgetting


def test_forgotten_again_its_ranker_goes_with_it():
    model = with_new(8)
    gone = np.zeros(248, bool)
    gone[240:243] = True
    five = forget(model, gone)
    assert ranked(five)
    four = forget(five, np.arange(245) == 244)
    assert not ranked(four)
    assert NEW in four.predict_topk(variants(1, seed=1), 3)[0]
    none = forget(four, np.arange(244) >= 240)
    assert none.reranker.new_rankers is None
    labels, scores = none.predict_topk(variants(20, seed=1), 31)
    assert not (labels == NEW).any()
    wanted = trained().predict_topk(variants(20, seed=1), 31)
    assert np.array_equal(scores, wanted[1])
    assert np.array_equal(labels, wanted[0])


def test_what_is_left_is_ranked_as_if_nothing_else_had_been_there():
    model = with_new(12)
    gone = np.zeros(252, bool)
    gone[[241, 244, 250]] = True
    fewer, wanted = forget(model, gone), add(trained(), variants(12)[~gone[240:]], having([NEW] * 9))
    for name in ("indptr", "indices", "data"):
        one, other = (getattr(each.reranker.new_rankers.weights, name) for each in (fewer, wanted))
        assert np.array_equal(one, other)
    data = problem()
    np.testing.assert_allclose(fewer.predict_topk(data.X_new, 8)[1], wanted.predict_topk(data.X_new, 8)[1], atol=1e-6)


def test_what_was_added_and_forgotten_again_leaves_no_trace():
    data, before = problem(), trained()
    both = add(before, normalise(as_rows(data.X_new)), data.Y_new)
    one, other = before.to_state(), forget(both, both.added).to_state()
    assert one[0] == other[0]
    for part, arrays in one[1].items():
        assert arrays.keys() == other[1][part].keys()
        for name, array in arrays.items():
            assert array.tobytes() == other[1][part][name].tobytes(), f"{part}/{name}"


def test_a_label_that_no_point_has_any_more_is_not_given():
    data = problem()
    label = int(trained().frequency.argmax())
    fewer = forget(trained(), data.Y.toarray()[:, label] > 0)
    assert fewer.frequency[label] == 0
    assert not (fewer.predict_topk(data.X_new, 30)[0] == label).any()
    assert fewer.decision_function(data.X_new)[:, label].nnz == 0
    assert not any(label in fewer.predict_topk(data.X_new[[row]], 30)[0] for row in range(10))


def test_everything_may_be_forgotten():
    data = problem()
    empty = forget(trained(), np.ones(240, bool))
    for rows in (data.X_new, data.X_new[:1]):
        labels, scores = empty.predict_topk(rows, 3)
        assert (labels == -1).all()
        assert (scores == 0).all()
    again = add(empty, normalise(as_rows(data.X_new)), data.Y_new)
    assert (again.predict_topk(data.X_new, 1)[0] >= 0).any()


# ---- in any order


@pytest.mark.parametrize("step", [1, 4])
def test_one_by_one_or_at_once(step):
    data = problem()
    rows = normalise(as_rows(data.X_new[:30]))
    Y = having(np.where(np.arange(30) % 2, 30, 31), 32)
    at_once, model = add(trained(), rows, Y), trained()
    for first in range(0, 30, step):
        model = add(model, rows[first : first + step], Y[first : first + step])
    one, other = at_once.decision_function(data.X_new), model.decision_function(data.X_new)
    assert np.abs((one - other).toarray()).max() < 1e-6


@pytest.fixture(scope="module")
def tagger():
    """A refined tagger of invented documents."""
    made = synthetic.make(260, 80, 12, 10, 2, seed=4)
    texts = [" ".join(f"word{word}" for word in row.indices) for row in made.X]
    labels = [[f"label{label}" for label in row.indices] for row in made.Y]
    classifier = X1Classifier(**SMALL)
    return TextTagger(classifier=classifier).fit(texts, labels, [f"d{number}" for number in range(260)])


def test_a_folder_that_was_added_to_says_the_same_to_whoever_reads_it(tagger, tmp_path):
    assert tagger.stored.model.reranker is not None
    tagger.save(tmp_path / "model")
    here, beside = LiveTagger(tmp_path / "model"), LiveTagger(tmp_path / "model")
    for number in range(14):
        label = "fresh" if number % 2 else "other"
        text = f"word{number % 3} word{20 + number % 4} word{40 + number % 5} news{number % 2}"
        here.add([Document(text, [label], f"new{number}", None, "")])
        beside.refresh()
    asked = ["word1 word21 word41", "word2 word22 word43 word7", "word0 word50 word60"]
    answers = [
        [[(tag.label, round(tag.score, 6)) for tag in tags] for tags in live.tagger.predict(asked, k=5)]
        for live in (here, beside, LiveTagger(tmp_path / "model"))
    ]
    assert answers[0] == answers[1]
    assert answers[0] == answers[2]
    assert any("fresh" in dict(tags) for tags in answers[0])


# ---- kept in the folder


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("count", [2, 12])
def test_saved_and_loaded_it_predicts_the_same_to_the_last_bit(options, count, tmp_path):
    model = forget(with_new(count, options), np.arange(240 + count) < 5)
    store.save(model, tmp_path / "model")
    found = store.load(tmp_path / "model").model
    data = problem()
    rows = sparse.vstack([data.X_new, variants(5, seed=1)], format="csr")
    one, other = model.predict_topk(rows, 8), found.predict_topk(rows, 8)
    # int8 rounds what was added only when it is saved.
    if OPTIONS[options].get("precision", "float32") == "float32":
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])
    else:
        assert np.abs(one[1] - other[1]).mean() < 1e-3
    # And goes on from there.
    more = add(found, variants(8, base=7), having([31] * 8, 32))
    assert more.n_labels == 32
    assert ranked(more, 31) == (more.index is not None)
    assert_well_formed(*more.predict_topk(rows, 8), 85, 8, 32)


def shorter(array):
    return array[:-1]


def last(value):
    def change(array):
        array = array.copy()
        array[-1] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("later.bias", shorter),
        ("later.bias", last(np.nan)),
        ("later.bias", lambda array: np.append(array, np.float32(1))),
        ("later.known", shorter),
        ("later.known", lambda array: array.astype(np.int64)),
        ("later.indices", last(150)),
        ("later.indices", last(-1)),
        ("later.indptr", last(0)),
        ("later.data", shorter),
        ("later.shape", lambda array: array[::-1].copy()),
    ],
)
def test_damaged_later_rankers_are_refused(name, change):
    settings, parts = copy.deepcopy(with_new(12).to_state())
    X1Model.from_state(settings, parts)  # as it is, it loads
    parts["refinement"][name] = change(parts["refinement"][name])
    with pytest.raises(ValueError, match="later"):
        X1Model.from_state(settings, parts)


# ---- one point, and what it costs


def test_a_point_alone_gets_what_it_gets_in_a_batch():
    model = with_new(12)
    rows = sparse.vstack([variants(10, seed=1), problem().X_new[:10]], format="csr")
    whole = model.predict_topk(rows, 31)[1]
    for row in range(20):
        alone = model.predict_topk(rows[[row]], 31)[1][0]
        assert (np.abs(alone - whole[row]) > 1e-4).mean() < 0.1  # of equal neighbours rounding chooses
        assert np.abs(alone - whole[row]).max() < 0.1


def test_in_plain_python_no_index_is_past_an_end(monkeypatch):
    model = with_new(2)
    in_plain_python(monkeypatch)
    more = add(model, variants(6, seed=1), having([NEW + 1] * 6, NEW + 2))
    assert ranked(more, NEW + 1)
    assert_well_formed(*more.predict_topk(problem().X_new[:10], 32), 10, 32, 32)


@pytest.fixture(scope="module")
def larger():
    """A refined model of 2,000 points, and rows to add."""
    data = synthetic.make(2310, 1000, 200, 30, 3, seed=6)
    settings = {**SMALL, "embedding_dim": 50, "svp_max_iter": 2}
    model = X1Classifier(**settings).fit(data.X[:2000], data.Y[:2000]).model_
    return model, normalise(as_rows(data.X[2000:]))


@pytest.mark.parametrize("count", [0, 8, 300])
def test_to_add_or_forget_a_point_trains_one_ranker_on_few_points(larger, count, monkeypatch):
    model, rows = larger
    model = add(model, rows[:count], having([200] * count, 201))
    assert ranked(model, 200) == (count >= MIN_POINTS)
    trained_on, fit = [], new_labels.fit_rankers
    monkeypatch.setattr(
        new_labels, "fit_rankers", lambda X, Y, *rest: trained_on.append((X.shape[0], Y.shape[1])) or fit(X, Y, *rest)
    )
    both = add(model, rows[[count]], having([200], 201))
    forget(both, np.arange(both.n_points) == both.n_points - 1)
    most = NEWEST_POINTS * NEW_LABEL_NEIGHBOURS + count + 1
    assert [labels for _, labels in trained_on] == [1] * (2 if count >= MIN_POINTS else 0)
    assert all(points <= min(most, both.n_points) for points, _ in trained_on)


def test_the_model_that_was_added_to_is_left_as_it_was():
    before = trained()
    kept = replace(before)
    with_new(12)
    assert before.reranker is kept.reranker
    assert before.reranker.new_rankers is None
    assert before.n_labels == 30


@pytest.mark.parametrize("labels", [4, 7, 8])
def test_a_new_label_beside_a_few_that_are_all_candidates(labels):
    # Candidates stand in the order of their labels: a part of them must not be of some labels only, here the rare ones.
    random = np.random.default_rng(0)
    prototypes, rare = random.random((labels + 1, 40)) ** 6, np.full(labels, 0.4)
    rare[::4] = 0.004
    Y = random.random((1500, labels)) < rare
    Y[np.arange(1500), 1 + random.integers(0, 3, 1500)] = True
    X = Y @ prototypes[:-1] + 0.15 * random.random((1500, 40)) + 0.02
    model = X1Classifier(refine=True, n_jobs=1, feature_share=0.3).fit(X, csr_matrix(Y.astype(np.float32))).model_
    new, queries = (2 * prototypes[-1] + 0.05 * random.random((4, 40)) for _ in range(2))
    having_it = csr_matrix((np.ones(4, np.float32), (np.arange(4), [labels] * 4)), (4, labels + 1))
    found, scores = add(model, normalise(as_rows(new)), having_it).predict_topk(queries, 1)
    assert (found == labels).all()
    assert scores.min() > 0.8
