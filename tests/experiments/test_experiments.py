"""The paper's experiments: what is kept and resumed, splits, tables beside printed figures, and the report."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_helpers import fail, invoke, succeed
from experiment_helpers import of, record
from neartag.core.errors import DataError, ParameterError
from neartag.core.progress import Progress
from neartag.data import debian, synthetic
from neartag.experiments import datasets, details, methods, printed, runner, table3, table4, timings
from neartag.experiments.behaviour import Behaviours
from neartag.experiments.datasets import Parts
from neartag.experiments.plan import Cell, Plan
from neartag.experiments.results_folder import read_records, write_records
from neartag.experiments.runner import Experiment, Work
from neartag.methods import registry
from neartag.x1.presets import PAPER, VOTE_PRESETS


class Toy(Experiment):
    """Measures the square of its seed; what is in `wrong` fails."""

    name = "toy"
    title = "A toy"

    def __init__(self, count=4):
        self.count, self.wrong, self.ran, self.setting = count, {}, [], 1
        self.answers = [[1000, 2000]]  # of its method

    def cells(self, plan):
        return [plan.cell(self.name, "debian", "x1", seed) for seed in plan.runs(self.count)]

    def settings(self, cell):
        return {"setting": self.setting, "pair": (1, 2)}

    def probe(self, cell):
        return "toy"

    def run(self, cell, work):
        self.ran.append(cell.seed)
        if cell.seed in self.wrong:
            raise self.wrong[cell.seed]
        return {"P@1": np.float64(cell.seed**2), "list": np.arange(2)}

    def report(self, results):
        return []


@pytest.fixture
def toy():
    return Toy()


def behaviours(toy, folder):
    return Behaviours(Path(folder), lambda probe: toy.answers)


def run(toy, folder, plan=None):
    return runner.run(plan or Plan(), ("toy",), Path(folder), Progress(), {"toy": toy}, behaviours(toy, folder))


# Cells and results


def test_cells_are_equal_whatever_the_order_of_their_options():
    one = Cell("table3", "bibtex", "x1", 1, (("dim", 100), ("sizes", [1, 2])))
    other = Cell("table3", "bibtex", "x1", 1, (("sizes", (1, 2)), ("dim", 100)))
    assert one == other
    assert hash(one) == hash(other)
    assert Cell.from_json(json.loads(json.dumps(one.as_json()))) == one


def test_only_quick_plans_make_quick_cells():
    assert Plan(quick=True).cell("table3", "debian").quick
    assert not Plan().cell("table3", "debian").quick
    assert list(Plan(quick=True).runs(10)) == [0, 1]
    assert list(Plan(seeds=3).runs(10)) == [0, 1, 2]
    assert list(Plan(seeds=30).runs(10)) == list(range(10))


def test_a_plan_wants_the_variants_of_the_methods_it_names():
    plan = Plan(methods=("fastxml", "x1-variant"))
    assert plan.wants("fastxml-1")
    assert plan.wants("x1-variant")
    assert not plan.wants("x1")
    assert Plan().wants("anything")


def test_summaries_are_means_and_sample_deviations_over_the_seeds():
    values = [60.0, 61.5, 64.0]
    found = of(*(record("t", "d", "m", seed, {"P@1": value}) for seed, value in enumerate(values)))
    summary = found.select("t", method="m").summary("P@1")
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.deviation == pytest.approx(statistics.stdev(values))
    assert summary.runs == 3
    assert found.select(method="other").summary("P@1") is None
    alone = of(record("t", "d", "m", 0, {"P@1": 1.0, "P@3": None})).select()
    assert alone.summary("P@1") == (1.0, None, 1)
    assert alone.summary("P@3") is None


def test_results_are_selected_by_what_cells_are():
    found = of(
        record("t", "a", "m", 0, {"v": 1}, options={"size": 3}),
        record("t", "b", "m", 1, {"v": 2}, options={"size": 4}),
        record("t", "b", "m", 2, {}, failed="no"),
    )
    assert [found[cell]["v"] for cell in found.select(data="b")] == [2]
    assert [found[cell]["v"] for cell in found.select(size=3)] == [1]
    assert list(found.select(data="b").failed.values()) == ["no"]
    assert found.names("size") == [3, 4]
    assert found.numbers("v") == [1, 2]


# The runner


def test_what_is_measured_is_not_measured_again(toy, tmp_path):
    found = run(toy, tmp_path)
    assert found.numbers("P@1") == [0, 1, 4, 9]
    assert toy.ran == [0, 1, 2, 3]
    again = run(toy, tmp_path)
    assert toy.ran == [0, 1, 2, 3]
    assert again.numbers("P@1") == [0, 1, 4, 9]
    assert again[next(iter(again))]["list"] == [0, 1]


def test_an_interrupted_run_goes_on_where_it_was(toy, tmp_path):
    toy.wrong = {2: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path)
    toy.wrong, toy.ran = {}, []
    assert run(toy, tmp_path).numbers("P@1") == [0, 1, 4, 9]
    assert toy.ran == [2, 3]


def test_a_failure_is_kept_with_its_reason_stops_nothing_and_is_tried_again(toy, tmp_path):
    toy.wrong = {1: ParameterError("too wide"), 2: ZeroDivisionError("a bug")}
    found = run(toy, tmp_path)
    assert found.numbers("P@1") == [0, 9]
    reasons = {cell.seed: reason for cell, reason in found.failed.items()}
    assert reasons[1] == "too wide"
    assert re.fullmatch(r"ZeroDivisionError in run, line \d+: a bug", reasons[2])
    assert [each.bug for each in found.records.values()] == [False, False, True, False]
    toy.wrong, toy.ran = {}, []
    assert run(toy, tmp_path).failed == {}
    assert toy.ran == [1, 2]


def test_results_of_other_settings_are_left_out_and_measured_again(toy, tmp_path):
    run(toy, tmp_path)
    toy.setting, toy.ran = 2, []
    found = runner.current_results(read_records(tmp_path), Plan(), behaviours(toy, tmp_path), {"toy": toy})
    assert len(found) == 0
    assert found.outdated == 4
    assert "4 measurements" in details.introduction(found)[0].paragraphs[-1]
    assert run(toy, tmp_path).outdated == 0
    assert toy.ran == [0, 1, 2, 3]


def test_results_of_a_method_that_answers_otherwise_are_shown_as_stale_and_measured_again(toy, tmp_path):
    run(toy, tmp_path)
    toy.answers, toy.ran = [[1002, 1999]], []  # within rounding
    assert run(toy, tmp_path).stale == set()
    assert toy.ran == []
    toy.answers = [[1000, 2100]]
    kept, now = read_records(tmp_path), behaviours(toy, tmp_path)
    assert set(runner.find_stale(kept, now, {"toy": toy}).values()) == {"the method answers otherwise now"}
    run(toy, tmp_path, Plan(seeds=1))
    assert toy.ran == [0]
    found = runner.current_results(read_records(tmp_path), Plan(), behaviours(toy, tmp_path), {"toy": toy})
    assert {cell.seed for cell in found.stale} == {1, 2, 3}
    assert len(found) == 4
    assert "toy x1 (3)" in details.introduction(found)[0].paragraphs[-1]
    toy.answers, toy.ran = [[1000, 2000]], []  # as it was at first
    assert run(toy, tmp_path).stale == set()
    assert toy.ran == [0]


def test_results_without_a_digest_are_stale(toy, tmp_path):
    run(toy, tmp_path)
    old = [replace(each, behaviour="") for each in read_records(tmp_path).values()]
    write_records(tmp_path, old)
    reasons = runner.find_stale(read_records(tmp_path), behaviours(toy, tmp_path), {"toy": toy})
    assert list(reasons.values()) == ["measured before digests"] * 4
    assert not run(toy, tmp_path).stale
    assert toy.ran == [0, 1, 2, 3] * 2


def test_failures_other_settings_and_unknown_experiments_are_listed_as_stale(toy, tmp_path):
    toy.wrong = {1: ParameterError("too wide")}
    run(toy, tmp_path)
    known = behaviours(toy, tmp_path)
    assert list(runner.find_stale(read_records(tmp_path), known, {"toy": toy}).values()) == ["failed: too wide"]
    assert set(runner.find_stale(read_records(tmp_path), known, {}).values()) == {"no such experiment"}
    toy.setting = 2
    reasons = list(runner.find_stale(read_records(tmp_path), known, {"toy": toy}).values())
    assert reasons.count("measured with other settings") == 3


def test_quick_results_stand_beside_the_others(toy, tmp_path):
    assert len(run(toy, tmp_path)) == 4
    assert len(run(toy, tmp_path, Plan(quick=True))) == 2
    assert len(run(toy, tmp_path)) == 4
    assert toy.ran == [0, 1, 2, 3, 0, 1]


def test_each_place_has_a_figure_before_any_has_ten():
    plan = Plan(data=("bibtex", "delicious"), methods=("x1", "knn"))
    cells = runner.pending_cells(plan, [table3.EXPERIMENT], {}, Behaviours(Path("nowhere")))
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells)
    assert len(cells) == 2 * 5 * 10  # the three columns of X1, and knn with plain and with weighted votes


def test_the_time_left_is_what_cells_like_these_took():
    known = [record("t", "d", "m", 0, {}, seconds=30.0), record("t", "d", "slow", 0, {}, seconds=600.0)]
    fast, slow = Cell("t", "d", "m", 1), Cell("t", "d", "slow", 1)
    assert runner._time_left([fast, fast], known) == "about 60 s left"
    assert runner._time_left([fast, slow], known) == "about 10 min left"
    assert runner._time_left([Cell("other", "e", "f", 1)], known) == "about 5 min left"  # the mean of all
    assert runner._time_left([fast], []) == ""


def test_a_cell_tells_how_far_it_is_beside_the_bar():
    notes: list[str] = []

    class Shown(Progress):
        def advance(self, steps=1, note=""):
            assert steps == 0
            notes.append(note)

    work = Work(1, Shown(), "table3 bibtex")
    with work.start(5, "training"):
        work.advance(2)
    assert notes == ["table3 bibtex: training 0/5", "table3 bibtex: training 2/5"]


# Printed figures


def test_the_winners_of_the_printed_tables_are_those_that_the_paper_sets_in_bold():
    for data in ("BibTeX", "Delicious", "MediaMill", "EURLex"):
        for place in range(3):
            best = max(printed.TABLE_3, key=lambda method: printed.TABLE_3[method][data][place])
            assert best == ("fastxml" if data == "Delicious" else "x1")
    for data in printed.TABLE_1["x1"]:
        for place in range(3):
            figures = {method: row[data] for method, row in printed.TABLE_1.items() if row[data] is not None}
            best = max(figures, key=lambda method: figures[method][place])
            assert best == ("fastxml" if (data, place) == ("Ads1M", 0) else "x1")


def test_printed_tables_are_whole():
    assert printed.TABLE_3.keys() == printed.TABLE_3_DEVIATIONS.keys()
    for method, row in printed.TABLE_3.items():
        assert row.keys() == printed.TABLE_3_DEVIATIONS[method].keys()
        assert len(row) == 4
    assert len(printed.TABLE_2) == 9
    assert list(printed.TABLE_4) == list(range(1, 11))
    for place in range(3):  # more learners never do worse
        means = [column.means[place] for column in printed.TABLE_4.values()]
        assert means == sorted(means)
    assert {
        datasets.paper_name(name) for name in (*datasets.SMALL_SETS, *datasets.LARGE_SETS)
    } == printed.TABLE_2.keys()


# Data sets


@pytest.fixture(scope="module")
def made():
    """The parts of a made-up set."""
    data = synthetic.make(500, 80, 12, 6, 2, seed=1)
    return Parts(data.X[:300], data.Y[:300], data.X[300:], data.Y[300:])


def pooled(parts):
    return sorted(np.vstack([parts.X.toarray(), parts.X_test.toarray()]).tolist())


def test_the_first_split_is_the_sets_own_and_the_others_are_random(made):
    own, first, other = (datasets.make_split(made, 300, seed) for seed in (0, 1, 2))
    assert (made.X != own.X).nnz == 0
    assert (own.Y_test != made.Y_test).nnz == 0
    assert first.X.shape == other.X.shape == own.X.shape
    assert (first.X != other.X).nnz > 0
    assert pooled(own) == pooled(first) == pooled(other)
    again = datasets.make_split(made, 300, 1)
    assert (again.X != first.X).nnz == 0


def test_splits_have_the_papers_sizes_where_the_points_are_the_papers(made):
    sizes = replace(printed.TABLE_2["EURLex"], train=450, test=50)
    assert datasets.train_size(made, sizes) == 450
    assert datasets.train_size(made, printed.TABLE_2["BibTeX"]) == 300, "the paper's has other points"
    assert datasets.train_size(made, None) == 300
    for seed in (0, 1):
        parts = datasets.make_split(made, 450, seed)
        assert (parts.X.shape[0], parts.Y.shape[0], parts.X_test.shape[0]) == (450, 450, 50)
        assert pooled(parts) == pooled(made)
    for name in ("eurlex", "eurlex4k-partial"):
        assert datasets.printed_sizes(name) is printed.TABLE_2["EURLex"]
    assert datasets.printed_sizes("debian") is None


def test_splits_of_the_embedded_corpus_keep_packages_of_a_source_together():
    _, labels, sources, count = datasets._read_corpus()
    train, test = datasets._split_by_source(sources, count, np.random.default_rng(0))
    assert not set(sources[train]) & set(sources[test])
    assert len(train) + len(test) == labels.shape[0]
    assert count <= len(train) < count + 100


def test_a_quick_split_is_a_small_sample():
    parts = datasets.split("debian", 1, quick=True)
    assert parts.X.shape[0] == parts.Y.shape[0] == datasets.QUICK_TRAIN
    assert parts.X_test.shape[0] == parts.Y_test.shape[0] == datasets.QUICK_TEST
    assert parts.Y.shape[1] == len(debian.tag_names())


def test_data_sets_are_chosen_among_those_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path))
    monkeypatch.setenv("NEARTAG_CACHE", str(tmp_path / "cache"))
    assert datasets.available() == ("debian",)
    assert datasets.choose(quick=True) == ("debian", "synthetic-wiki10")
    assert len(datasets.choose()) == 6
    assert datasets.choose(["debian"]) == ("debian",)
    with pytest.raises(DataError, match="bibtex"):
        datasets.choose(["bibtex"])
    (tmp_path / "bibtex").mkdir()
    for name in ("eurlex4k-partial", "wiki10"):
        (tmp_path / name).mkdir()
    assert datasets.available() == ("bibtex", "eurlex4k-partial", "wiki10", "debian")
    assert datasets.choose_small(datasets.available()) == ["bibtex", "eurlex4k-partial"]
    assert datasets.choose_large(datasets.available()) == ["wiki10"]
    assert datasets.choose_small(("debian", "wiki10")) == ["debian"]
    assert datasets.choose_all(("debian", "wiki10")) == ["wiki10"]
    assert datasets.choose_all(("debian",)) == ["debian"]
    assert datasets.choose_all(datasets.available()) == ["bibtex", "eurlex4k-partial", "wiki10"]
    assert "synthetic-wiki10" not in datasets.choose()
    assert datasets.choose(["Wiki10-31K"]) == ("wiki10",)
    (tmp_path / "mine").mkdir()
    with pytest.raises(ParameterError, match="in no experiment"):
        datasets.choose(["mine"])


def test_one_set_stands_for_each_of_the_papers():
    assert datasets.choose_small(("eurlex", "eurlex4k-partial", "mediamill-rand")) == ["mediamill-rand", "eurlex"]
    assert "substitute" in datasets.title("eurlex4k-partial")
    assert datasets.title("synthetic-wikilshtc") == "synthetic, WikiLSHTC's shape"
    assert datasets.in_table_order(["zoo", "debian", "delicious", "bibtex", "bibtex"]) == (
        "bibtex",
        "delicious",
        "debian",
        "zoo",
    )


# Methods


def test_x1_has_the_papers_settings():
    small = methods.paper_settings("eurlex4k-partial")
    assert (small["n_learners"], small["embedding_dim"], small["n_clusters"]) == (1, 100, "paper")
    large = methods.paper_settings("yso-finna-en-100k", large=True)
    assert (large["n_learners"], large["embedding_dim"]) == (15, 50)
    assert methods.resolve_clusters(large, 99003)["n_clusters"] == 16
    assert methods.resolve_clusters(large, 3000)["n_clusters"] == 2
    assert methods.resolve_clusters(small, 99003) == small
    chosen = {"n_learners", "n_clusters", "embedding_dim", "svp_neighbours", "vote_neighbours", "l2"}
    for settings in (small, large):  # all else is the preset's, and nothing is left to each run
        assert {name: value for name, value in settings.items() if name not in chosen} == {
            name: value for name, value in PAPER.items() if name not in chosen
        }
        assert "auto" not in settings.values()
        assert not settings["refine"]


def test_neartags_variant_is_as_large_as_the_papers_x1():
    for data, large in (("bibtex", False), ("unheard-of", False), ("yso-finna-en-100k", True)):
        paper, own = methods.paper_settings(data, large=large), methods.variant_settings(data, large=large)
        assert {name: own[name] for name in ("n_learners", "embedding_dim")} == {
            name: paper[name] for name in ("n_learners", "embedding_dim")
        }
        assert own["feature_share"] == 0.0
        assert "refine" not in own
    assert methods.variant_settings("bibtex")["n_clusters"] == 1


def test_every_column_is_a_method_that_can_be_made():
    for variant in (*table3.METHODS, *printed.TABLE_1):
        for data in ("bibtex", "eurlex4k-partial", "debian", "unheard-of"):
            settings = methods.settings_for(variant, data)
            column = methods.find_variant(variant)
            known = {parameter.name for parameter in registry.get(column.method).parameters}
            assert settings.keys() <= known
            assert column.changes.items() <= settings.items()
        assert methods.title(variant)


def test_x1_votes_alone_unless_its_settings_say_otherwise(made):
    parts = datasets.make_split(made, 300, 1)
    small = {"embedding_dim": 4, "svp_neighbours": 10, "vote_neighbours": 5}
    assert methods.train("x1", small, parts, 0, Work(1))[0].model_.reranker is None
    assert methods.train("x1-refined", {**small, "refine": True}, parts, 0, Work(1))[0].model_.reranker is not None
    assert methods.settings_for("x1-refined", "yso-finna-en-100k") == {"refine": True}
    assert methods.settings_for("x1-refined", "mediamill-rand") == {**VOTE_PRESETS["mediamill"], "refine": True}


def test_a_measured_method_has_the_precision_of_its_labels(made):
    parts = datasets.make_split(made, 300, 1)
    found = methods.measure("knn", {"neighbours": 5}, parts, 0, Work(1))
    classifier = registry.get("knn").estimator_class()(neighbours=5, n_jobs=1).fit(parts.X, parts.Y)
    labels, _ = classifier.predict_topk(parts.X_test, 1)
    truth = parts.Y_test.toarray()
    assert found["P@1"] == pytest.approx(100 * truth[np.arange(len(labels)), labels[:, 0]].mean(), abs=1e-4)
    assert sum(band["P@3"] for band in found["bands"].values()) == pytest.approx(found["P@3"], abs=1e-3)
    assert found["model_bytes"] > 0
    json.dumps(found, allow_nan=False)


# Tables


def small_results():
    means = {"x1": 66.0, "x1-variant": 66.5, "leml": 62.0, "fastxml": 66.5}
    made = [
        record("table3", "bibtex", method, seed, {"P@1": mean + step, "P@3": mean / 2, "P@5": mean / 3})
        for method, mean in means.items()
        for seed, step in enumerate((-1.0, 1.0))
    ]
    return of(*made, record("table3", "bibtex", "cs", 0, {}, failed="too wide"))


def test_table_3_sets_measured_beside_printed_figures():
    whole, extract = table3.EXPERIMENT.report(small_results())
    assert whole.columns[2:] == ["X1 (paper)", "neartag's variant", "LEML", "CS", "FastXML"]
    assert extract.columns[2:] == ["X1 (paper)", "neartag's variant", "LEML", "FastXML"]
    first = whole.rows[0]
    assert first[:2] == ["BibTeX", "P@1"]
    number = first[2]
    assert (number.value, number.runs, number.printed, number.printed_deviation) == (66.0, 2, 65.57, 0.65)
    assert number.deviation == pytest.approx(statistics.stdev([65.0, 67.0]))
    assert number.difference == pytest.approx(0.43)
    assert first[3].printed is None  # the paper has no variant
    assert first[5].value is None
    assert first[5].note == "failed"
    assert whole.winners(first) == {3, 6}
    assert whole.winners(first, printed=True) == {2}


def test_experiments_without_results_report_nothing():
    for name in ("table1", "table2", "table3", "table4", "timings"):
        assert runner.get(name).report(of()) == []


def test_table_4_takes_each_number_of_learners_over_the_runs():
    runs = [
        record(
            "table4",
            "debian",
            "x1",
            seed,
            {f"P@{k}": [50.0 + count + seed * 0.1 for count in range(10)] for k in (1, 3, 5)}
            | {"clusters": [16] * 9 + [19 + seed]},
        )
        for seed in range(3)
    ]
    table, plot, words = table4.EXPERIMENT.report(of(*runs))
    last = table.rows[-1]
    assert last[0] == "10"
    assert last[1].value == pytest.approx(59.1)
    assert last[4].value == pytest.approx(0.1)
    assert last[4].printed is None  # it is of other data
    assert "16 to 21 clusters in a learner" in table.note
    same = [replace(run, cell=replace(run.cell, data="wikilshtc")) for run in runs]
    assert table4.EXPERIMENT.report(of(*same))[0].rows[-1][4].printed == 0.035
    assert list(plot.series[0].y) == pytest.approx([50.1 + count for count in range(10)])
    assert "0.100 points; the paper's, on WikiLSHTC, is 0.035" in words.paragraphs[0]


def test_the_time_against_the_points_searched_is_a_line_where_it_is_one():
    runs = [
        record(
            "timings",
            "debian",
            "x1",
            0,
            {
                "points_searched": size,
                "predict_ms_alone": 0.5 + size / 1000,
                "predict_ms_a_point": size / 5000,
                "train_seconds": 1.0,
            },
            options={"clusters": count},
        )
        for count, size in ((1, 4000.0), (2, 2000.0), (4, 1000.0))
    ]
    other = [
        replace(each, cell=replace(each.cell, data="yso-finna-en-100k")) for each in runs[:2]
    ]  # too few for a line
    plain = record(
        "timings", "debian", "x1", 0, {"predict_ms_alone": 2.0, "predict_ms_a_point": 1.0, "train_seconds": 3.0}
    )
    table, plot, words = timings.EXPERIMENT.report(of(*runs, *other, plain))
    assert table.rows[0][2].value == 3.0
    assert list(plot.series[0].x) == [1000, 2000, 4000]
    assert "one at a time, a straight line explains 100.0% of the variance" in words.paragraphs[0]
    assert "0.500 ms, and 1.000 ms for each thousand" in words.paragraphs[0]
    assert "all at once, a straight line" in words.paragraphs[0]
    assert "0.000 ms, and 0.200 ms for each thousand" in words.paragraphs[0]


@pytest.mark.parametrize(
    ("data", "grown"),
    [
        (("yso-finna-en-100k",), {"yso-finna-en-100k"}),
        (("bibtex", "delicious", "yso-finna-en-100k"), {"delicious", "yso-finna-en-100k"}),
        (("debian",), {"debian"}),
    ],
)
def test_times_are_taken_with_more_clusters_on_wanted_sets_only(data, grown):
    cells = timings.EXPERIMENT.cells(Plan(data=data))
    assert {cell.data for cell in cells} == set(data)
    assert {cell.data for cell in cells if cell.option("clusters")} == grown


# The command


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A machine with the embedded corpus only."""
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NEARTAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "out"


def test_the_command_writes_a_report_and_goes_on(alone):
    arguments = ["reproduce", "--quick", "--only", "table2", "--data", "debian", "--out", alone]
    assert "1 cells" in succeed(*arguments)
    kept = alone / "results" / "table2.jsonl"
    before = kept.stat().st_mtime_ns
    succeed(*arguments)
    succeed("reproduce", "--quick", "--report", "--out", alone)
    assert kept.stat().st_mtime_ns == before
    assert "23,938" in (alone / "reproduction.md").read_text()
    assert json.loads(kept.read_text())["measured"]["labels"] == 507


def test_the_command_lists_what_is_stale(alone):
    assert "no such folder" in fail("reproduce", "--check", "--out", alone)
    succeed("reproduce", "--quick", "--only", "table2", "--data", "debian", "--out", alone, "-q")
    assert "0 of 1 results are stale" in succeed("reproduce", "--check", "--out", alone)
    write_records(
        alone / "results",
        [record("table3", "debian", "knn", 0, {"P@1": 1.0}, settings=methods.preset("knn", "debian"))],
    )
    result = invoke("reproduce", "--check", "--out", alone)
    words = result.stdout
    assert result.exit_code == 1
    assert "table3 debian knn seed 0: measured before digests" in words
    assert "1 of 2 results are stale" in words
    assert "0 of 1" in succeed("reproduce", "--check", "--only", "table2", "--out", alone)


def test_the_command_names_what_it_does_not_know(alone):
    assert "table9" in fail("reproduce", "--only", "table9", "--out", alone)
    assert "choose among" in fail("reproduce", "--methods", "x9", "--out", alone)
    assert "nowhere" in fail("reproduce", "--data", "nowhere", "--out", alone)
    assert "--seeds" in fail("reproduce", "--seeds", 0, "--out", alone)
    alone.parent.joinpath("file").write_text("")
    assert "cannot be made" in fail("reproduce", "--out", alone.parent / "file")


def test_a_large_set_in_the_repositorys_format_is_measured(alone):
    made = synthetic.make(70, 60, 30, 8, 2, seed=3)  # few: the set's settings make a cluster of nearly each point
    folder = alone.parent / "data" / "wikilshtc"
    folder.mkdir(parents=True)
    for name, rows in (("wikiLSHTC_train.txt", slice(0, 50)), ("wikiLSHTC_test.txt", slice(50, 70))):
        X, Y = made.X[rows], made.Y[rows]
        lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
        for x, y in zip(X, Y, strict=True):
            values = (f"{column}:{value:.6g}" for column, value in zip(x.indices, x.data, strict=True))
            lines.append(" ".join([",".join(map(str, y.indices)), *values]))
        (folder / name).write_text("\n".join(lines) + "\n")
    arguments = ["--quick", "--data", "WikiLSHTC-325K", "--methods", "knn,x1", "--only", "table1,table2"]
    succeed("reproduce", *arguments, "--out", alone, "-q")
    found = read_records(alone / "results")
    assert {each.failed for each in found.values()} == {""}
    assert {cell.data for cell in found} == {"wikilshtc"}
    assert {cell.method for cell in found} == {"", "knn", "knn-weighted", *methods.X1_COLUMNS}
    # What the authors' program ships for the set is neither neartag's variant nor refined.
    settings = {cell.method: record.settings for cell, record in found.items() if cell.experiment == "table1"}
    assert settings[methods.REFINED] == {"refine": True}
    assert not {"vote_weight", "vote_distance", "keep_weights", "cluster_start"} & set(settings[methods.OWN])
    assert settings[methods.STRICT]["vote_weight"] == "uniform"
    page = (alone / "reproduction.md").read_text()
    assert "paper 55.57" in page
    assert "Of the paper's five large sets these are not here: Wiki10, DeliciousLarge, Amazon, Ads1M" in page


def test_quick_tables_on_the_embedded_corpus_alone(alone, monkeypatch):
    monkeypatch.setattr(datasets, "QUICK_TRAIN", 400)  # no option of the command
    arguments = ["reproduce", "--quick", "--methods", "x1,knn", "--data", "debian", "--out", alone, "-q"]
    succeed(*arguments, "--only", "table4", "--seeds", 1)  # a run trains ten learners
    succeed(*arguments, "--only", "table3", "--seeds", 1)
    found = read_records(alone / "results")
    assert not [each.failed for each in found.values() if each.failed]
    assert {cell.experiment for cell in found} == {"table3", "table4"}
    page = (alone / "reproduction.html").read_text()
    assert page.count("<svg") == 2  # of X1 (paper) and of neartag's variant
    (x1,) = [
        each
        for each in found.values()
        if (each.cell.experiment, each.cell.method, each.cell.seed) == ("table3", "x1", 0)
    ]
    (knn,) = [each for each in found.values() if (each.cell.method, each.cell.seed) == ("knn", 0)]
    assert x1.measured["P@1"] > knn.measured["P@1"]
