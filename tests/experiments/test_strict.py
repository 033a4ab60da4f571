"""Readings, the ladder and the penalty μ: their engine against the classifier, their plans and their reports."""

from __future__ import annotations

import numpy as np
import pytest

from experiment_helpers import of, record
from neartag.data import synthetic
from neartag.experiments import datasets, differences, methods, readings, sparsity, splits, table3, trials
from neartag.experiments.datasets import Parts
from neartag.experiments.ladder import EXPERIMENT as LADDER
from neartag.experiments.ladder.changes import (
    ADDED,
    ALONE,
    CHANGES,
    OF_THE_VOTE,
    PRESET,
    REFINE,
    has_rung,
    rung_settings,
)
from neartag.experiments.plan import Plan
from neartag.experiments.readings.experiment import _likeness
from neartag.experiments.readings.open_points import PRINTED, READINGS
from neartag.experiments.readings.report import best_reading
from neartag.experiments.readings.validation import LARGE, LARGE_LEARNERS, Grid, find_grid, measure_choices
from neartag.experiments.runner import Work
from neartag.experiments.short_k_means import partition_in_rounds
from neartag.methods import presets
from neartag.x1.centroids import Partition, route
from neartag.x1.classifier import X1Classifier
from neartag.x1.ensemble import learner_seeds
from neartag.x1.parameters import DEFAULTS
from neartag.x1.presets import PAPER, VOTE_PRESETS
from neartag.x1.resolve import DataFacts, resolve
from neartag.x1.settings import X1Settings

SMALL = {**PAPER, "embedding_dim": 5, "n_learners": 1, "n_clusters": 2, "svp_max_iter": 4}
CHOSEN = {"svp_neighbours": 20, "l2": 0.5, "vote_neighbours": 7}


@pytest.fixture(scope="module")
def parts():
    data = synthetic.make(400, 60, 15, 8, 3, seed=5)
    return Parts(data.X[:300], data.Y[:300], data.X[300:], data.Y[300:])


def resolved(parts, **changes):
    asked = X1Settings.from_parameters({**SMALL, **CHOSEN, **changes})
    return resolve(asked, DataFacts.of(parts.X, parts.Y.shape[1]))


@pytest.mark.parametrize("changes", [{}, {"vote_distance": "cosine"}, {"label_similarity": "cosine"}, {"l1": 0.05}])
def test_a_trial_answers_as_the_classifier_does(parts, changes):
    unit, settings = splits.prepare(parts, "unit"), resolved(parts, **changes)
    learner = trials.regress(trials.embed_labels(unit.X, unit.Y, settings, 1), settings, 1)
    found = trials.Answers.find([learner], unit.X_test, unit.Y, settings, 7, 1).top(7)
    classifier = X1Classifier(**{**SMALL, **CHOSEN, **changes, "n_jobs": 1}).fit(parts.X, parts.Y)
    np.testing.assert_array_equal(found, classifier.predict_topk(parts.X_test, 5)[0])


def test_an_ensemble_of_trials_answers_as_the_classifier_does(parts):
    size = {"n_learners": 3, "n_clusters": 2}
    unit, settings = splits.prepare(parts, "unit"), resolved(parts, **size)
    embedded = [trials.embed_labels(unit.X, unit.Y, settings, 1, learner=number) for number in range(3)]
    learners = [trials.regress(each, settings, 1) for each in embedded]
    found = trials.Answers.find(learners, unit.X_test, unit.Y, settings, 7, 1).top(7)
    classifier = X1Classifier(**{**SMALL, **CHOSEN, **size, "n_jobs": 1}).fit(parts.X, parts.Y)
    np.testing.assert_array_equal(found, classifier.predict_topk(parts.X_test, 5)[0])
    first = trials.Answers.find(learners[:1], unit.X_test, unit.Y, settings, 7, 1).top(7)
    assert (first != found).any()


def test_ties_go_to_whom_the_reading_says(parts):
    near = np.array([[2, 1, 0]], np.int32), np.array([[0.9, 0.8, 0.7]], np.float32)
    Y = parts.Y[:0].copy()
    Y = type(Y)(np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], np.float32))
    answers = trials.Answers([near], Y, resolved(parts), 1)
    assert answers.top(3)[0].tolist() == [0, 1, 2, -1, -1]  # two points have label 0
    assert answers.top(3, "id")[0].tolist() == [0, 1, 2, -1, -1]
    assert answers.top(3, "nearest")[0].tolist() == [1, 2, 0, -1, -1]


def test_a_point_may_be_left_out_of_its_own_neighbours(parts):
    settings = resolved(parts).svp
    with_itself, without = (trials.label_graph(parts.Y, settings, 1, itself=each) for each in (True, False))
    assert (with_itself.diagonal() > 0).sum() > (without.diagonal() > 0).sum() == 0
    assert without.nnz > 0


def test_rows_as_they_are_keep_their_lengths(parts):
    scaled = splits.prepare(parts._replace(X=4 * parts.X, X_test=8 * parts.X_test), "ball")
    lengths = np.sqrt(scaled.X.multiply(scaled.X).sum(axis=1))
    assert lengths.max() == pytest.approx(1.0, rel=1e-5)
    assert scaled.X.dtype == scaled.X_test.dtype == np.float32
    ratio = parts.X.data / scaled.X.data
    assert ratio.std() < 1e-5 * ratio.mean()
    np.testing.assert_allclose(scaled.X_test.data, 2 * parts.X_test.data / ratio.mean(), rtol=1e-4)


def test_the_choice_is_the_best_on_held_out_points_alone(parts):
    grid = Grid((10, 20), (0.1, 1.0), (3, 5))
    found = list(measure_choices(splits.prepare(parts, "unit"), READINGS[PRINTED], SMALL, grid, 1))
    assert [tuple(each.choice) for each in found] == [
        (count, penalty, k) for count in (10, 20) for penalty in (0.1, 1.0) for k in (3, 5)
    ]
    kept, held = trials.hold_out(100, 0.2, (0, 11))
    assert (len(kept), len(held)) == (80, 20)
    assert not set(kept) & set(held)
    same = measure_choices(parts, READINGS["same-count"], SMALL, Grid((3, 5), (1.0,), (3, 5)), 1)
    assert [(each.choice.neighbours, each.choice.voters) for each in same] == [(3, 3), (5, 5)]


def test_a_reading_of_an_ensemble_trains_its_learners(parts):
    settings = {**SMALL, "n_learners": 2, "n_clusters": methods.PAPER_CLUSTERS}
    (only,) = measure_choices(
        splits.prepare(parts, "unit"), READINGS["ensemble"], settings, Grid((10,), (1.0,), (3,)), 1
    )
    assert [each.partition.n_clusters for each in only.embedded] == [2, 2]


def test_what_is_tried_depends_on_the_reading_and_on_the_set():
    chosen = methods.PAPER_CHOICES["mediamill"]
    ensemble = find_grid(READINGS["ensemble"], "mediamill-rand", quick=False)
    assert (ensemble.neighbours, ensemble.penalties) == ((chosen["svp_neighbours"],), (chosen["l2"],))
    assert find_grid(READINGS["shipped"], "mediamill-rand", quick=False)._replace(penalties=()) == ((300,), (), (4,))
    usual, wider = (find_grid(READINGS[name], "bibtex", quick=False) for name in (PRINTED, "wider"))
    for some, more in zip(usual, wider, strict=True):
        assert set(some) < set(more)
    assert find_grid(READINGS["fixed-penalty"], "bibtex", quick=False).penalties == (1.0,)
    assert find_grid(READINGS["same-count"], "bibtex", quick=False).neighbours == usual.voters
    assert find_grid(READINGS[PRINTED], "yso-finna-en-100k", quick=False) == LARGE


def test_a_large_set_has_the_papers_reading_and_tests_of_causes_on_few_learners():
    cells = readings.EXPERIMENT.cells(Plan(data=("bibtex", "yso-finna-en-100k"), seeds=1))
    large = [cell for cell in cells if cell.data == "yso-finna-en-100k"]
    assert large == readings.EXPERIMENT.cells(Plan(data=("yso-finna-en-100k",)))  # and no other set in its place
    tests = ["large-early", "large-dimensions", "large-even", "large-products", "large-short-k-means"]
    tests.append("large-products-whole")
    assert [cell.option("reading") for cell in large] == [PRINTED, *tests]
    settings = [readings.EXPERIMENT.settings(cell) for cell in large]
    assert [each["x1"]["embedding_dim"] for each in settings] == [50, 50, 300, 50, 50, 50, 50]
    assert {each["x1"]["n_learners"] for each in settings} == {LARGE_LEARNERS}
    # The tests differ from one of the first two in one thing each.
    paper, early, wide, even, products, short, whole = settings
    assert {**early, "k-means": "by inner products"} == products
    assert {**early, "k-means": "seven rounds"} == short
    assert {**paper, "tried": whole["tried"], "k-means": "by inner products"} == whole
    assert {**early["x1"], "embedding_dim": 300} == wide["x1"]
    assert {**early["x1"], "max_cluster_size": 13_000} == even["x1"]
    assert early["tried"] == wide["tried"]


def test_readings_that_share_an_embedding_learn_it_once_and_answer_as_alone(monkeypatch):
    learned = []
    embed_labels = trials.embed_labels
    monkeypatch.setattr(trials, "embed_labels", lambda *args, **more: learned.append(0) or embed_labels(*args, **more))

    def run(reading):
        cell = Plan(data=("debian",), quick=True).cell("readings", "debian", "x1", reading=reading)
        return readings.EXPERIMENT.run(cell, Work(1))

    names = [PRINTED, "cosine-distance", "ties-nearest", "cosine-labels", "not-itself", "raw-rows"]
    splits.forget()
    together, counts = [], []
    for name in names:
        before = len(learned)
        together.append(run(name))
        counts.append(len(learned) - before)
    assert counts == [2, 0, 0, 2, 2, 2]  # held out, and whole
    for name, shared in zip(names[1:3], together[1:3], strict=True):
        splits.forget()
        assert run(name) == shared


def test_each_reading_differs_from_the_printed_one():
    assert len(READINGS) >= 6
    plan = Plan(data=("bibtex",), seeds=1)
    cells = readings.EXPERIMENT.cells(plan)
    small = {key for key, each in READINGS.items() if not each.for_large}
    clustered = {key for key in small if READINGS[key].changes.get("n_clusters") == 1}
    clustered |= {key for key in small if READINGS[key].k_means != "plain" and not READINGS[key].only_on}
    clustered -= {"ensemble-short-k-means"}  # at least two clusters
    assert {"one-cluster", "products"} < clustered
    of_mediamill = {key for key in small if READINGS[key].only_on}
    # By the paper's rule BibTeX has one cluster, Delicious two.
    assert {cell.option("reading") for cell in cells} == small - clustered - of_mediamill
    more = readings.EXPERIMENT.cells(Plan(data=("delicious",), seeds=1))
    assert {cell.option("reading") for cell in more} == small - of_mediamill
    more = readings.EXPERIMENT.cells(Plan(data=("mediamill-rand",), seeds=1))
    assert {cell.option("reading") for cell in more} == small
    more = readings.EXPERIMENT.cells(Plan(data=("mediamill-rand",)))
    planned = [cell.seed for cell in more if cell.option("reading") == "program"]
    assert planned == list(range(10))  # the others have the first split alone
    assert {cell.option("reading") for cell in more if cell.seed} == {"program"}
    whole = [str(readings.EXPERIMENT.settings(cell)) for cell in cells]
    assert len(set(whole)) == len(whole)
    for cell in cells:  # what validation chooses is not given
        assert not {"svp_neighbours", "l2", "vote_neighbours"} & readings.EXPERIMENT.settings(cell)["x1"].keys()


def test_the_report_of_readings_marks_the_best_on_held_out_points():
    def measured(validation, test):
        chosen = {"neighbours": 50, "penalty": 0.1, "voters": 5}
        scores = dict.fromkeys(methods.PRECISIONS, validation)
        tested = dict.fromkeys(methods.PRECISIONS, test)
        return {**tested, "chosen": chosen, "validation": scores, "svp_steps": 9, "unexplained": 0.0123}

    found = of(
        record("readings", "bibtex", "x1", 0, measured(40.0, 66.0), options={"reading": "printed"}),
        record("readings", "bibtex", "x1", 0, measured(41.0, 60.5), options={"reading": "one-cluster"}),
        record("readings", "bibtex", "x1", 1, measured(41.0, 90.0), options={"reading": "one-cluster"}),
        *(record("table3", "bibtex", "x1", seed, dict.fromkeys(methods.PRECISIONS, 65.0)) for seed in (0, 1)),
    )
    words, table = readings.EXPERIMENT.report(found)
    assert len(words.paragraphs) == 2  # only those that are measured
    assert [row[0] for row in table.rows] == ["X1 (paper)", "one cluster"]
    assert [row[1].note for row in table.rows] == ["", "best"]
    assert [row[5] for row in table.rows] == ["–", "-5.50 / -5.50 / -5.50"]  # on the split that both have
    assert table.rows[0][6:10] == ["50", "0.1", "5", 9]
    assert table.rows[0][10].value == pytest.approx(1.23)
    assert "Over 2 splits X1 (paper) is -0.57 / +24.98 / +35.70 from the printed numbers" in table.note
    assert "the best of 2 readings" in table.note
    large = record("readings", "yso-finna-en-100k", "x1", 0, measured(20.0, 30.0), options={"reading": "printed"})
    assert "the best of" not in readings.EXPERIMENT.report(of(large))[1].note  # there is nothing to choose from


def test_a_reading_made_after_a_look_at_the_test_part_is_never_the_best():
    means = {PRINTED: 40.0, "one-cluster": 41.0, "as-program": 42.0, "large-early": 43.0}
    later = {"as-program": 42.0, "program": 42.0, "ensemble-short-k-means": 42.0}
    assert best_reading({**means, **later}) == "one-cluster"
    assert all(READINGS[key].after_test for key in later)
    assert READINGS["large-early"].for_large
    assert best_reading(means) == "one-cluster"
    assert best_reading({PRINTED: 40.0, "as-program": 42.0}) == ""  # nothing to choose from


def test_a_reading_of_all_splits_has_a_table_beside_x1_and_print():
    def measured(value):
        chosen = {"neighbours": 50, "penalty": 0.1, "voters": 5}
        scores = dict.fromkeys(methods.PRECISIONS, value)
        return {**scores, "chosen": chosen, "validation": scores, "svp_steps": 9, "unexplained": 0.1}

    data, options = "mediamill-rand", {"reading": "program"}
    x1 = [record("table3", data, "x1", seed, dict.fromkeys(methods.PRECISIONS, 86.0 + seed)) for seed in range(3)]
    first = record("readings", data, "x1", 0, {**measured(88.0), "clusters_alike": 0.25}, options=options)
    blocks = readings.EXPERIMENT.report(of(*x1, first))
    assert [block.title for block in blocks[1:]] == ["MediaMill"]  # one split is in the table of all readings
    (row,) = blocks[1].rows
    assert blocks[1].columns[-1] == "clusters alike"
    assert row[-1] == "0.25"
    second = record("readings", data, "x1", 1, measured(90.0), options=options)
    blocks = readings.EXPERIMENT.report(of(*x1, first, second))
    assert [block.title for block in blocks[1:]] == ["MediaMill", "MediaMill: a reading on all splits"]
    assert [row[2].value for row in blocks[1].rows] == [88.0]  # the first split alone, as of all readings
    table = blocks[2]
    assert [row[1] for row in table.rows] == list(methods.PRECISIONS)
    title, _, found, beside, lead, printed, apart = table.rows[0]
    assert title == READINGS["program"].title
    assert (found.value, found.runs, beside.value, beside.runs) == (89.0, 2, 87.0, 3)
    assert (lead, printed, apart) == ("+2.50", "87.09 ± 0.33", "+5.8")  # the lead: over the splits that both have


@pytest.mark.parametrize("k_means", ["short", "products"])
def test_labels_are_embedded_in_the_clusters_that_are_asked_for(parts, k_means):
    settings, rows = resolved(parts), splits.prepare(parts, "unit").X
    found = trials.embed_labels(rows, parts.Y, settings, 1, k_means=k_means)
    seed = int(learner_seeds(settings)[0].generate_state(2)[1])
    asked = partition_in_rounds(rows, 2, seed, 1, by_products=k_means == "products")
    np.testing.assert_array_equal(found.partition.centroids, asked.centroids)
    np.testing.assert_array_equal(found.partition.assignment, asked.assignment)
    plain = trials.embed_labels(rows, parts.Y, settings, 1).partition
    assert not np.array_equal(plain.centroids, asked.centroids)


def test_the_likeness_of_clusters_is_that_of_all_pairs_of_learners():
    def learner(*assignment):
        clusters = Partition(np.zeros((1, 2), np.float32), np.array(assignment))
        return trials.Embedded(clusters, np.zeros((4, 1), np.float32), [], [], 0.0)

    assert _likeness([learner(0, 0, 1, 1)]) is None
    assert _likeness([learner(0, 0, 1, 1), learner(1, 1, 0, 0)]) == 1  # the numbers of clusters mean nothing
    # Against the third, each of the others has an index of −0.5.
    assert _likeness([learner(0, 0, 1, 1), learner(1, 1, 0, 0), learner(0, 1, 0, 1)]) == 0


@pytest.mark.parametrize("by_products", [True, False])
def test_short_k_means_takes_the_same_mean_when_it_learns_and_when_it_routes(by_products):
    X = np.random.default_rng(1).exponential(size=(300, 12)).astype(np.float32)  # no two are equally near

    def nearest(rows, means):
        closeness = rows @ means.T - (0 if by_products else (means**2).sum(axis=1) / 2)
        return closeness.argmax(axis=1)

    found = partition_in_rounds(X, 4, seed=3, threads=1, by_products=by_products)
    rows, rng = X / np.linalg.norm(X, axis=1, keepdims=True).astype(np.float64), np.random.default_rng(3)
    means = rows[np.sort(rng.choice(len(rows), 4, replace=False))]
    for _ in range(7):
        near = nearest(rows, means)
        means = np.array([rows[near == cluster].mean(axis=0) for cluster in range(4)])
    np.testing.assert_array_equal(found.assignment, near)
    np.testing.assert_allclose(found.centroids.T * (1e4 if by_products else 1), means, atol=1e-5)
    others = X[::-1] / 3  # by products of any length: the largest one stays the same
    np.testing.assert_array_equal(route(others, found.centroids)[:, 0], nearest(others, means))


# ---- the ladder


def test_the_ladder_leads_from_the_papers_settings_to_neartags_votes():
    for data in ("bibtex", "delicious", "mediamill-rand", "eurlex4k-partial"):
        last = rung_settings(data, "features", ADDED)
        votes = {**DEFAULTS, **VOTE_PRESETS[presets.preset_name(data)]}
        changed = {name for name in last if name not in ("refine", "n_learners", "vote_search")}
        assert {name: last[name] for name in changed} == {name: votes[name] for name in changed}
        alone = rung_settings(data, "labels", ALONE)
        assert alone == {**methods.paper_settings(data), "label_similarity": "cosine"}


def test_a_change_that_changes_nothing_has_no_rung():
    assert not has_rung("mediamill-rand", "features", ADDED)  # its share is 0
    assert not has_rung("bibtex", "dimension", ALONE)
    assert has_rung("eurlex4k-partial", "dimension", ALONE)
    assert has_rung("bibtex", REFINE, ALONE)
    assert has_rung("bibtex", REFINE, ADDED)
    for rung in (ALONE, ADDED):  # Table 3 has the last one
        assert not has_rung("bibtex", PRESET, rung)


def test_the_ends_of_the_ladder_are_cells_of_table_3():
    plan = Plan(data=("bibtex",), seeds=2)
    cells = LADDER.cells(plan)
    ends = [cell for cell in cells if cell.experiment == "table3"]
    assert set(ends) <= set(table3.EXPERIMENT.cells(plan))
    assert len(ends) == 4
    for cell in ends:
        assert LADDER.settings(cell) == table3.EXPERIMENT.settings(cell)


def rung(change, kind, seed, value):
    measured = {"P@1": value, "P@3": 1.0, "P@5": 1.0, "train_points": 300, "test_points": 100}
    return record("ladder", "bibtex", "x1", seed, measured, options={"change": change, "rung": kind})


def test_a_gain_is_taken_split_by_split_with_an_interval():
    base = [record("table3", "bibtex", "x1", s, {"P@1": v, "P@3": 1.0, "P@5": 1.0}) for s, v in enumerate((60, 62, 64))]
    after = [rung("svp", "alone", s, v) for s, v in enumerate((61, 64, 67))]
    found = of(*base, *after)
    gain = differences.lead_between(found.select("ladder"), found.select("table3"), "P@1", 100 / 300)
    assert gain.mean == pytest.approx(2.0)
    assert gain.half == pytest.approx(4.302653 * 1.0 * (1 / 3 + 100 / 300) ** 0.5, rel=1e-6)
    assert str(gain) == "+2.00 ± 3.51"
    one = differences.lead_between(of(after[0]).select("ladder"), found.select("table3"), "P@1", 100 / 300)
    assert (one.mean, one.half, str(one)) == (1.0, None, "+1.00")
    assert differences.lead_between(of(rung("svp", "alone", 7, 1.0)), found.select("table3"), "P@1") is None


def test_the_report_of_the_ladder_adds_up():
    values = {"P@3": 1.0, "P@5": 1.0}
    base = [record("table3", "bibtex", "x1", seed, {"P@1": 60.0 + seed, **values}) for seed in (0, 1)]
    refined = [record("table3", "bibtex", "x1-refined", seed, {"P@1": 66.0 + seed, **values}) for seed in (0, 1)]
    rungs = [
        rung(change, kind, seed, value + seed)
        for change, kind, value in (
            ("svp", "alone", 61.0),
            ("svp", "added", 61.0),
            ("labels", "added", 64.0),
            ("refine", "added", 65.5),
        )
        for seed in (0, 1)
    ]
    words, glance, table, plot = LADDER.report(of(*base, *refined, *rungs))
    assert glance.columns == ["change", "BibTeX, alone", "BibTeX, added"]
    assert [row[1:3] for row in glance.rows if row[0] == table.rows[1][0]] == [
        [f"{table.rows[1][1]} (2)", f"{table.rows[1][4]} (2)"]
    ]
    assert glance.rows[-1][2].split(" (")[0] == table.rows[-1][4]
    assert len(words.paragraphs) == len(CHANGES)
    by_title = {row[0]: row for row in table.rows}
    assert by_title["ten steps of SVP, η = 1.5"][1] == by_title["ten steps of SVP, η = 1.5"][4] == "+1.00 ± 0.00"
    assert by_title["cosine of labels"][1] == "–"
    assert by_title["cosine of labels"][4] == "+3.00 ± 0.00"  # over the last rung that was measured
    assert by_title["rankers"][4] == "+1.50 ± 0.00"
    assert by_title["settings for rankers"][4] == "+0.50 ± 0.00"
    assert by_title["all"][4] == "+6.00 ± 0.00"
    assert by_title["all"][7].value == 66.5
    assert [series.style for series in plot.series] == ["intervals", "intervals"]
    assert len(plot.rows) == len(CHANGES)


@pytest.mark.parametrize("change", OF_THE_VOTE)
def test_a_change_of_the_vote_needs_no_training_of_its_own(parts, monkeypatch, change):
    monkeypatch.setattr(methods, "paper_settings", lambda data, **_: {**SMALL, **CHOSEN})
    monkeypatch.setattr(datasets, "split", lambda *_: parts)
    splits.forget()
    plan = Plan(data=("bibtex",), seeds=1, jobs=1)
    (cell,) = [cell for cell in LADDER.cells(plan) if (cell.option("change"), cell.option("rung")) == (change, ALONE)]
    found = LADDER.run(cell, Work(1))
    whole = methods.measure("x1", LADDER.settings(cell), parts, cell.seed, Work(1))
    for name in (*methods.PRECISIONS, "bands"):
        assert found[name] == whole[name]
    splits.forget()


# ---- μ


def test_the_penalty_makes_embeddings_sparse(parts, monkeypatch):
    settings = {"x1": {**SMALL, **CHOSEN}, "l1": [0.0, 0.5]}
    monkeypatch.setattr(sparsity.EXPERIMENT, "settings", lambda cell: settings)
    monkeypatch.setattr(sparsity.datasets, "split", lambda *_: parts)
    plan = Plan(data=("bibtex",), seeds=1, jobs=1)
    (cell,) = sparsity.EXPERIMENT.cells(plan)
    found = sparsity.EXPERIMENT.run(cell, Work(1))
    assert found["zeros"][0] == 0.0 < found["zeros"][1]
    assert found["mu"] == [0.0, 0.5]
    results = of(record("sparsity", "bibtex", "x1", 0, found))
    table, plot = sparsity.EXPERIMENT.report(results)
    assert [row[0] for row in table.rows] == ["0", "0.5"]
    assert len(plot.series) == 3
