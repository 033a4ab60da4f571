"""The benchmark beside the peers: its harness on a tiny data set with what is installed anyway, and its writers."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.data import Dataset, debian, read, registry
from neartag.encoders.tfidf import TfidfFeatures
from neartag.metrics import evaluate, paired_bootstrap
from neartag.search import inverted_index as feature_vote


def row(name="knn", method="cosine kNN", data="toy", **changes):
    median = {"P@1": 50.0, "P@3": 40.0, "P@5": 30.0, "PSP@1": 20.0, "PSP@5": 10.0, "train wall s": 3.0}
    median |= {"train CPU s": 5.0, "batch ms": 0.5, "one ms": 1.0, "model MB": 2.0, "RSS before training MB": 100.0}
    median |= {"peak RSS training MB": 150.0, "peak RSS predicting MB": 120.0, "load s": 1.0, "read s": 1.0}
    median |= {"first call s": 1.0, "cores used by others": 0.0, **changes}
    return {"data": data, "name": name, "method": method, "runs": [median], "median": median}


def test_harness_measures_writes_and_resumes(toy, module, monkeypatch):
    peers = module("peers")
    monkeypatch.setattr(peers, "code", lambda: "as it is")  # the source may be under work while tests run
    options = ["toy", "--methods", "x1-default,knn,x1-fast", "--repeat", "1", "--no-compile", "--write"]
    options += ["--results", str(toy / "peers.json"), "--labels", str(toy / "labels"), "--docs", str(toy)]
    peers.main(options)
    result = json.loads((toy / "peers.json").read_text())
    assert [measured["name"] for measured in result["rows"]] == ["x1-default", "knn"]  # no fast settings for this set
    for measured in result["rows"]:
        (run,) = measured["runs"]
        assert run == measured["median"]
        assert run["P@1"] == 100.0
        assert run["one as in batch %"] == 100.0
        assert 0 < run["RSS before training MB"] <= run["peak RSS training MB"]
        assert min(run[key] for key in ("train wall s", "batch ms", "one ms", "model MB", "save s", "load s")) > 0
    page = (toy / "benchmarks.md").read_text()
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert "| toy | cosine kNN | 100.00 /" in page
    assert str(toy) not in page + (toy / "peers.json").read_text()
    kept = {path.name: np.load(path)["labels"] for path in (toy / "labels").iterdir()}
    assert set(kept) == {"toy.x1-default.1.npz", "toy.knn.1.npz"}
    truth = registry.load("toy", "test").Y
    for labels in kept.values():
        assert labels.shape == (30, 5)
        assert evaluate(labels, truth)["P@1"] == 100.0
    refined = module("refined")
    monkeypatch.setattr(refined.pages, "RESULTS", toy / "results")
    monkeypatch.setattr(refined.pages, "BENCHMARKS", toy / "benchmarks.md")
    given = ["--results", str(toy / "peers.json"), "--labels", str(toy / "labels"), "--ours", "x1-default"]
    refined.main([*given, "--write"])
    assert "| toy | X1, votes alone | 100.00 |" in (toy / "benchmarks.md").read_text()
    assert json.loads((toy / "results" / "refined.json").read_text())["counts"]["at or above"] == 5

    def never(*_, **__):
        raise AssertionError("there is nothing left to measure")

    monkeypatch.setattr(peers, "start", never)
    peers.main([*options, "--resume"])
    assert json.loads((toy / "peers.json").read_text()) == result
    peers.main([*options, "--resume", "--repeat", "0"])
    assert json.loads((toy / "peers.json").read_text()) == result


def test_changed_settings_or_code_are_measured_again(module):
    resume = module("peers").resume
    old = {**row(), "settings": {"n_neighbors": 5}, "code": None}
    kept = {**row("pecos"), "settings": {}, "code": None}
    for change, runs in (({}, 1), ({"settings": {"n_neighbors": 6}}, 0), ({"code": "other"}, 0)):
        rows = resume([{**old, "runs": [], "wanted": 5, **change}], {"rows": [old, kept]})
        assert [(one["name"], len(one["runs"]), one["wanted"]) for one in rows] == [("pecos", 1, 0), ("knn", runs, 5)]


def test_a_run_that_fails_says_why_without_paths(module, monkeypatch):
    peers = module("peers")
    ended = SimpleNamespace(returncode=3, stderr="…\nError: no file /some/where/data.txt\n")
    monkeypatch.setattr(peers.subprocess, "run", lambda *_, **__: ended)
    assert peers.start("toy", "knn", 2, 10) == {"failed": "ended with 3: Error: no file …/data.txt"}


def test_slow_methods_run_once(module):
    wanted = module("peers").wanted
    assert [wanted("one-vs-rest", labels, 5, []) for labels in (100, 3000, 20000)] == [5, 1, 1]
    assert [wanted("pecos", 20000, 5, once) for once in ([], ["pecos"])] == [5, 1]


def test_table_holds_accuracy_cost_and_ratio_in_a_row(module):
    writer = module("peer_table")
    rows = [row("pecos", "PECOS XR-Linear", **{"train wall s": 2.0}), row(), row(data="other"), row("plt", "PLT")]
    rows[-1].update(runs=[], median={}, left_out="ended with 1")
    lines = writer.table(rows).splitlines()
    assert len(lines) == 2 + 3
    assert lines[3] == (
        "| toy | cosine kNN | 50.00 / 40.00 / 30.00 | 20.00 / 10.00 | 3.00 (5.00) | 1.50× "
        "| 0.500 | 1.00× | 1.00 | 2.00 | 150 (50) | 1 |"
    )
    assert "| – |" in lines[4]  # PECOS was not measured on that set
    assert "PLT on toy left out: ended with 1." in writer.notes(rows)
    rows[0]["runs"][0]["cores used by others"] = 0.5
    assert writer.notes(rows)[-1] == "In 1 of 3 runs other processes used more than 0.1 cores."
    assert writer.beside(rows).splitlines()[2].endswith("| in training | 1.00 |")
    assert writer.medians([{"a": 1.0}, {"a": 5.0}, {"a": 2.0}]) == {"a": 2.0}
    assert [writer.figure(value) for value in (0.0123, 1.234, 12.34, 123.4)] == ["0.012", "1.23", "12.3", "123"]


def test_best_labels_of_sparse_scores(module):
    methods = module("peer_method")
    scores = csr_matrix(np.array([[0, 3, 1, 2, 6, 5, 4], [0, 0, 0, 0, 0, 0, 0], [0, 0, 7, 0, 8, 0, 0]]))
    assert methods.best(scores).tolist() == [[4, 5, 6, 1, 3], [-1] * 5, [4, 2, -1, -1, -1]]
    equal = csr_matrix([[2.0, 1.0, 1.0, 1.0, 0.0]])
    assert methods.best(equal).tolist() == [[0, 1, 2, 3, -1]]
    assert methods.best(equal, among_equals=np.array([1, 5, 9, 7, 9])).tolist() == [[0, 2, 3, 1, -1]]
    assert methods.padded([[1, 2], [1, 2, 3, 4, 5, 6]]).tolist() == [[1, 2, -1, -1, -1], [1, 2, 3, 4, 5]]


def test_texts_become_the_same_rows_and_labels_for_both_parts(module, tmp_path, monkeypatch):
    peer_data = module("peer_data")
    folder = tmp_path / "cooking-text"
    folder.mkdir()
    texts = {
        "train": [("boiled egg", ["eggs"]), ("sour dough bread", ["bread", "dough"])],
        "test": [("bread with egg", ["eggs", "sandwich"]), ("dough", ["bread"])],
    }
    for part, documents in texts.items():
        lines = [json.dumps({"text": text, "labels": labels}) for text, labels in documents]
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("NEARTAG_DATA", str(tmp_path))
    train, test = peer_data.load("cooking")
    features = TfidfFeatures()
    assert np.array_equal(train.X.toarray(), features.fit_transform([text for text, _ in texts["train"]]).toarray())
    assert np.array_equal(test.X.toarray(), features.transform([text for text, _ in texts["test"]]).toarray())
    # bread, dough, eggs, and after them what the test part alone has
    assert train.Y.toarray().tolist() == [[0, 0, 1, 0], [1, 1, 0, 0]]
    assert test.Y.toarray().tolist() == [[0, 0, 1, 1], [1, 0, 0, 0]]


def test_embedded_corpus_is_one_of_the_data_sets(module):
    train, test = module("peer_data").load("debian")
    assert train.Y.shape == (debian.info()["train"], len(debian.tag_names()))
    assert (test.n_features, test.n_labels) == (train.n_features, train.n_labels)


def test_training_file_holds_points_without_features_or_labels_and_no_blank_at_an_end(module, tmp_path):
    X = csr_matrix(np.array([[0, 0.5, 0.1], [0, 0, 0], [0.25, 0, 0]], np.float32))
    Y = csr_matrix(np.array([[1, 1], [0, 1], [0, 0]], np.float32))
    given = Dataset(X, Y, label_names=["a", "b"])
    file = module("peer_data").training_file(given, tmp_path)
    assert file.read_text().splitlines() == ["3 3 2", "0,1 1:0.5 2:0.1", "1", " 0:0.25"]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    back = read(file)
    assert np.array_equal(back.X.toarray(), X.toarray())
    assert np.array_equal(back.Y.toarray(), Y.toarray())


def one_vs_rest(methods, X, Y, folder, **limits):
    method = methods.OneVsRest({}, 2)
    vars(method).update(limits)
    method.fit(method.train_input(X, Y, None), folder)
    method.save(folder)
    method.load(folder)
    return method.predict(method.test_input(X)), method.model


def test_one_vs_rest_is_scikit_learns_and_hardly_differs_without_small_weights(toy, module):
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    methods = module("peer_methods")
    generator = np.random.default_rng(3)
    X = csr_matrix(np.where(generator.random((80, 30)) < 0.3, generator.random((80, 30)), 0))
    seen = np.arange(9) != 4  # the other comes last
    Y = csr_matrix((generator.random((80, 9)) < 0.3) & seen, dtype=np.float32)
    found, (weights, _) = one_vs_rest(methods, X, Y, toy)
    rows = methods.unit(X)
    reference = OneVsRestClassifier(LinearSVC(random_state=0)).fit(rows, Y.toarray()[:, seen].astype(int))
    order = np.argsort(-reference.decision_function(rows), axis=1)[:, :5]
    assert np.array_equal(found, np.flatnonzero(seen)[order])
    sparse_found, (sparse_weights, _) = one_vs_rest(methods, X, Y, toy, at_once=7, sparse_above=8)
    small = np.abs(weights) < methods.MIN_WEIGHT
    assert np.array_equal(sparse_weights.toarray(), np.where(small, 0, weights))
    assert (sparse_found == found).mean() > 0.9
    with pytest.raises(RuntimeError, match="8 labels take about 0 minutes on 2 threads"):
        one_vs_rest(methods, X, Y, toy, sparse_above=8, longest_minutes=0)


def kept_run(folder, name, labels, train, test, number=1):
    """Return what a run of a results file has of these labels, and keep them as peers.py does."""
    np.savez_compressed(folder / f"toy.{name}.{number}.npz", labels=labels)
    return {**row()["median"], **evaluate(labels, test.Y, Y_train=train.Y)}


def test_refined_holds_each_figure_against_the_best_peer(toy, module):
    refined = module("refined")
    train, test = registry.load("toy", "train"), registry.load("toy", "test")
    generator = np.random.default_rng(5)
    right = np.argsort(-(test.Y.toarray() + 0.1 * generator.random(test.Y.shape)), axis=1)[:, :5]
    some = right.copy()
    some[:10, [0, 4]] = right[:10, [4, 0]]  # a third begin with a wrong label
    late = np.roll(right, 1, axis=1)  # one wrong label first, then the right ones
    rows = []
    for name, labels in (("x1-refined", some), ("pecos", late), ("plt", right)):
        run = kept_run(toy, name, labels, train, test)
        rows.append({"data": "toy", "name": name, "method": name, "runs": [run], "median": run})
    rows[0]["median"]["train wall s"] = 6.0
    told = refined.measured(rows, "toy", "x1-refined", toy)
    peers = [each["peer"] for each in told["figures"].values()]
    assert peers == ["plt", "pecos", "pecos", "plt", "pecos"]  # from P@3 on they are equal, and the first is named
    first = told["figures"]["P@1"]
    assert (first["ours"], first["best"]) == (pytest.approx(200 / 3), 100.0)
    wanted = paired_bootstrap(some, right, test.Y, metric="P@1")
    assert (first["difference"], first["low"], first["high"]) == tuple(wanted)
    assert told["figures"]["PSP@5"]["difference"] == pytest.approx(
        evaluate(some, test.Y, Y_train=train.Y)["PSP@5"] - evaluate(right, test.Y, Y_train=train.Y)["PSP@5"]
    )
    assert told["costs"] == {"train wall s": 2.0, "batch ms": 1.0}
    found = refined.counts([told])
    assert found["figures"] == 5
    assert found["P@1 significantly below"] == ["toy"]
    without = refined.measured(rows[:2], "toy", "x1-refined", toy)
    assert without["figures"]["P@1"]["low"] > 0
    assert refined.counts([without])["P@1 significantly below"] == []
    result = {"method": "X1 refined", "machine": "m", "threads": 2, "versions": {"neartag": "1"}, "counts": found}
    result["tuned"] = False
    lines = refined.section({**result, "sets": [told, {"data": "other", "left_out": "reason"}]}).splitlines()
    assert lines[2].startswith("| toy | X1 refined | 66.67 |")
    assert lines[3].startswith("|  | best peer | 100.00 plt |")
    assert lines[4].startswith("|  | difference | -33.33 (-")
    assert "- Significantly below the best peer: toy P@1 (plt), toy P@3 (pecos), toy PSP@1 (plt)." in lines
    assert "- other left out: reason." in lines
    assert "left_out" in refined.measured(rows[1:], "toy", "x1-refined", toy)


def test_refined_takes_the_labels_of_the_median_run_and_no_others(toy, module):
    refined = module("refined")
    train, test = registry.load("toy", "train"), registry.load("toy", "test")
    right = np.argsort(-test.Y.toarray(), axis=1, kind="stable")[:, :5]
    runs = []
    for number, wrong in enumerate((30, 0, 15), start=1):
        labels = right.copy()
        labels[:wrong] = labels[:wrong, ::-1]
        runs.append(kept_run(toy, "plt", labels, train, test, number))
    measured = {"data": "toy", "name": "plt", "method": "PLT", "runs": runs}
    assert refined.median_run(measured, "P@1") == 2
    labels = refined.labels_of(measured, "P@1", train, test, toy)
    assert evaluate(labels, test.Y)["P@1"] == 50.0
    (toy / "toy.plt.1.npz").replace(toy / "toy.plt.3.npz")
    with pytest.raises(DataError, match="not the labels of the run"):
        refined.labels_of(measured, "P@1", train, test, toy)
    (toy / "toy.plt.3.npz").unlink()
    with pytest.raises(DataError, match="no labels of PLT on toy"):
        refined.labels_of(measured, "P@1", train, test, toy)


def test_formulae_of_cost_count_small_cases_right(module):
    cost = module("cost")
    generator = np.random.default_rng(1)
    Y, X = generator.random((40, 9)) < 0.3, csr_matrix(generator.random((30, 12)) * (generator.random((30, 12)) < 0.4))
    assert cost.pairs_of(Y.sum(axis=0)) == (Y.astype(int) @ Y.T.astype(int)).sum()
    there = (X.toarray() != 0).astype(int)
    assert cost.feature_products(there.sum(axis=1), 12).flops == 2 * np.tril(there.T @ there).sum()
    lengths = there.sum(axis=0)
    assert cost.list_entries(X, lengths, 0, skip=0.0).tolist() == (there @ lengths).tolist()
    query = csr_matrix([[0.1, 0.99]])  # the first feature is in many rows and weighs little
    assert [cost.list_entries(query, np.array([100, 5]), again)[0] for again in (0, 10, 60)] == [5, 15, 105]
    assert cost.residual_product(10, 3, 4) == cost.Cost(160, 10 * (8 + 16) + 96)
    assert cost.assigning(10, 3) * 2 + cost.Cost(1, 1, 1) == cost.Cost(121, 401, 1)


def test_cost_measures_every_step_and_writes(toy, module, monkeypatch):
    cost = module("cost")
    for peak in ("arithmetic_peak", "copy_peak", "fetch_peak", "add_peak"):
        monkeypatch.setattr(cost, peak, lambda *_: 1e9)
    monkeypatch.setitem(cost.PARTITIONS, "toy", (3,))
    for where in (cost, feature_vote):
        monkeypatch.setattr(where, "compact", lambda rows: rows)  # the real sets are sparse, and stay so
    monkeypatch.setattr(cost.pages, "RESULTS", toy / "benchmarks" / "results")
    monkeypatch.setattr(cost.pages, "DOCS", toy / "docs")
    monkeypatch.setitem(cost.SETTINGS, "toy", {"embedding_dim": 10})
    (toy / "benchmarks").mkdir()
    (toy / "docs").mkdir()
    page = toy / "docs" / "performance.md"
    page.write_text("before\n<!-- cost begin -->\nold\n<!-- cost end -->\nafter\n")
    for solver in ("primal", "cg"):
        monkeypatch.setattr(cost.admm, "cheapest_solver", lambda *_, chosen=solver: chosen)
        cost.main(["toy", "missing", "--threads", "2", "--write"])
        (found,) = json.loads((toy / "benchmarks" / "results" / "cost.json").read_text())["sets"]
        assert found["solver"] == solver
        assert all(row["seconds"] > 0 and row["share"] > 0 for row in found["rows"])
        assert page.read_text().startswith("before\n")
        assert page.read_text().endswith("\nafter\n")
        for step in ("partition into 3: means", "SVP: R·U, a step", f"regression ({solver})", "feature vote", "vote"):
            assert f"| {step}" in page.read_text()


def test_pages_keep_what_stands_around_the_marks(tmp_path, module, monkeypatch):
    pages = module("pages")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- one begin -->\nold\n<!-- one end -->\nbetween\n<!-- two begin --><!-- two end -->\n")
    pages.insert("two", "new", page)
    pages.insert("one", "first", page)
    pages.insert("one", "second", page)
    wanted = (
        "before\n<!-- one begin -->\nsecond\n<!-- one end -->\nbetween\n<!-- two begin -->\nnew\n<!-- two end -->\n"
    )
    assert page.read_text() == wanted
    with pytest.raises(ValueError, match=r"page\.md has no marks for three"):
        pages.insert("three", "text", page)
    assert page.read_text() == wanted
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    assert pages.kept("some") == {}
    pages.keep("some", {"a": 1})
    assert pages.kept("some") == {"a": 1}


@pytest.mark.parametrize("name", ["x1", "peers", "refined", "peers-tuned", "refined-tuned", "study", "ladder", "size"])
def test_every_benchmark_has_its_place_on_the_page(name, module):
    text = module("pages").BENCHMARKS.read_text()
    assert text.count(f"<!-- {name} begin -->") == text.count(f"<!-- {name} end -->") == 1


def test_plots_show_every_method_on_every_data_set(module, tmp_path):
    pytest.importorskip("matplotlib")
    figures = {"P@1": 60.0, "train wall s": 2.0, "batch ms": 0.5}
    named = {"x1-preset": "X1 preset", "knn": "cosine kNN"}
    rows = [
        {"data": data, "name": name, "method": method, "median": figures}
        for data in ("toy", "other")
        for name, method in named.items()
    ]
    module("plots").draw([*rows, {"data": "left out", "name": "pecos", "method": "PECOS", "median": {}}], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["peers-predict.svg", "peers-training.svg"]
    for path in tmp_path.iterdir():
        drawn = path.read_text()
        for word in ("toy", "other", "X1 preset", "cosine kNN"):
            assert drawn.count(f"<!-- {word} -->") == (1 if word in ("toy", "other") else 2)
        assert "PECOS" not in drawn


def test_a_command_is_measured_beside_the_libraries_that_it_needs(tmp_path, module):
    startup = module("startup")
    found = startup.measure("--help", tmp_path, 1)
    assert found["ratio"] == pytest.approx(found["CPU s"] / found["libraries' CPU s"])
    assert set(startup.COMMANDS) == {"--help", "train, no such file", "predict, ten points", "tag, one text"}


def test_steps_are_measured_in_turn_with_a_product(module, monkeypatch, tmp_path, capsys):
    response, calls = module("response"), []
    steps = [("a step", limit, 3, lambda: calls.append(1)) for limit in (1e9, 1e-12)]
    for name in ("reading_steps", "training_steps", "model_steps"):
        monkeypatch.setattr(response, name, lambda: iter(steps[:1]))
    monkeypatch.setattr(response.pages, "RESULTS", tmp_path)
    assert response.main(["--rounds", "2", "--check", "--write"]) == 0
    assert len(calls) == 3 * (1 + 2 * 3)  # once before, then three times a round
    assert capsys.readouterr().out.count("| a step |") == 3
    assert len(json.loads((tmp_path / "response.json").read_text())["rows"]) == 3
    monkeypatch.setattr(response, "reading_steps", lambda: iter(steps))
    assert response.main(["--rounds", "1", "--check"]) == 1
