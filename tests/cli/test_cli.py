"""The command line: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import unicodedata

import numpy as np
import pytest

from cli_helpers import fail, invoke, start, succeed
from neartag import __version__, presets, store
from neartag.cli import options, output, references, train
from neartag.core import usage
from neartag.core.errors import ParameterError
from neartag.data import formats, mapped, synthetic
from neartag.tagging.explain import labels_of, votes
from neartag.x1.classifier import X1Classifier
from neartag.x1.parameters import DEFAULTS, PARAMETERS

SMALL = ["--n-learners", "2", "--embedding-dim", "10", "--svp-neighbours", "20", "--n-jobs", "1"]
SETTINGS = {"n_learners": 2, "embedding_dim": 10, "svp_neighbours": 20, "n_jobs": 1}
HELP_MODULES = 300
TEXTS = [
    ("bake bread with yeast and flour", ["baking", "bread"]),
    ("knead the dough for bread", ["bread"]),
    ("grill a steak on high heat", ["meat"]),
    ("roast beef and steak", ["meat", "a name\twith a tab: and colons"]),
] * 5


@pytest.fixture(scope="module", autouse=True)
def _no_data_sets(tmp_path_factory):
    """Keep data sets that this machine happens to have out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEARTAG_DATA", str(tmp_path_factory.mktemp("no-data")))
        yield


@pytest.fixture(scope="module")
def data():
    return synthetic.make(360, 150, 30, 10, 2.5, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    """A folder with a data set in two parts and a model of it."""
    place = tmp_path_factory.mktemp("round")
    formats.write(data.take(np.arange(300)), place / "train.txt")
    formats.write(data.take(np.arange(300, 360)), place / "test.txt")
    succeed("train", place / "train.txt", place / "model", *SMALL)
    return place


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("texts")
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in TEXTS]
    (place / "train.jsonl").write_text("\n".join(lines) + "\n")
    succeed("train", place / "train.jsonl", place / "model", "--n-learners", 1, "--embedding-dim", 4)
    return place


@pytest.fixture(scope="module")
def fitted(data):
    return X1Classifier(**SETTINGS).fit(data.X[:300], data.Y[:300])


class TestTrain:
    def test_says_what_was_trained_and_what_it_cost(self, folder, tmp_path):
        shown = succeed("train", folder / "train.txt", tmp_path / "m", *SMALL)
        for word in ("points n", "300", "features d", "150", "labels L", "30", "training time", "CPU", "peak memory"):
            assert word in shown

    def test_json_has_the_same(self, folder, tmp_path):
        report = json.loads(succeed("train", folder / "train.txt", tmp_path / "m", *SMALL, "--json"))
        assert (report["points"], report["features"], report["labels"]) == (300, 150, 30)
        assert report["model_bytes"] == train.disk_bytes(tmp_path / "m") > 0
        assert report["seconds"] > 0
        assert report["cpu_seconds"] > 0
        assert report["peak_rss_bytes"] is None or report["peak_rss_bytes"] > 10**7

    def test_data_that_take_much_of_the_memory_allowed_are_mapped(self, folder, tmp_path, monkeypatch):
        monkeypatch.setattr(mapped, "IN_MEMORY_SHARE", 1e-9)  # no option sets it: a model needs more than its data
        monkeypatch.setattr(mapped.memory, "total", lambda: None)
        arguments = ["train", folder / "train.txt", tmp_path / "m", *SMALL, "--overwrite"]
        assert json.loads(succeed(*arguments, "--json"))["mapped_bytes"] == 0
        assert "mapped" not in succeed(*arguments)
        report = json.loads(succeed(*arguments, "--json", "--max-memory", "8GB"))
        entries = (folder / "train.txt").read_bytes().count(b":")
        assert report["mapped_bytes"] > 8 * entries
        assert "data in files" in succeed(*arguments, "--max-memory", "8GB")
        assert store.inspect(tmp_path / "m")["files"] == store.inspect(folder / "model")["files"]

    def test_a_folder_stands_for_its_train_part(self, folder, tmp_path):
        report = json.loads(succeed("train", folder, tmp_path / "m", *SMALL, "--json"))
        assert report["points"] == 300
        assert store.inspect(tmp_path / "m")["files"] == store.inspect(folder / "model")["files"]

    def test_options_override_the_preset_and_the_preset_the_defaults(self):
        given = dict.fromkeys(DEFAULTS) | {"l2": "7", "n_clusters": "auto", "random_state": "none"}
        settings = train.choose_settings("bibtex", given)
        assert settings == {**presets.get("bibtex"), "l2": 7.0, "n_clusters": "auto", "random_state": None}
        assert train.choose_settings(None, dict.fromkeys(DEFAULTS)) == {}

    def test_a_model_is_replaced_only_if_asked(self, folder, tmp_path):
        succeed("train", folder / "train.txt", tmp_path / "m", *SMALL)
        (tmp_path / "broken.txt").write_text("no numbers\n")
        # Before the data are read.
        assert "--overwrite" in fail("train", tmp_path / "broken.txt", tmp_path / "m", *SMALL)
        succeed("train", folder / "train.txt", tmp_path / "m", *SMALL, "--overwrite", "--n-probe", 2)
        assert store.load(tmp_path / "m").model.parameters["n_probe"] == 2

    def test_a_warning_is_one_line_without_a_place_in_the_code(self, folder, tmp_path):
        result = invoke("train", folder / "train.txt", tmp_path / "m", *SMALL, "--n-clusters", 1)
        assert result.exit_code == 0
        assert result.stderr.startswith("warning: with one cluster all 2 learners")
        assert ".py" not in result.stderr


class TestPredict:
    def test_equals_the_python_interface(self, folder, data, fitted):
        labels, scores = fitted.predict_topk(data.X[300:], 4)
        lines = succeed("predict", folder / "model", folder / "test.txt", "-k", 4, "--n-jobs", 1).splitlines()
        assert [line.split("\t") for line in lines] == [[str(v) for v in row if v >= 0] for row in labels]
        lines = succeed("predict", folder / "model", folder, "-k", 4, "--json", "--n-jobs", 1).splitlines()
        found = [json.loads(line) for line in lines]
        assert [point["labels"] for point in found] == [[v for v in row if v >= 0] for row in labels.tolist()]
        assert [s for point in found for s in point["scores"]] == scores[labels >= 0].tolist()

    def test_scores_follow_the_last_colon(self, text_folder):
        lines = succeed("predict", text_folder / "model", "-", "-k", 2, "--scores", input="steak\n").splitlines()
        cells = [cell.rsplit(":", 1) for cell in lines[0].split("\t")]
        assert sorted(name for name, _ in cells) == ["a name\\twith a tab: and colons", "meat"]
        assert all(0 <= float(score) <= 1 for _, score in cells)

    def test_lines_of_text(self, text_folder, tmp_path):
        answers = succeed("predict", text_folder / "model", "-", "-k", 1, input="bread dough\r\n\x0bgrill\n\nsteak")
        assert answers.count("\n") == 4
        assert [answers.split("\n")[row] for row in (0, 3)] == ["bread", "meat"]
        (tmp_path / "lines").write_text("steak\nbread\n")
        assert succeed("predict", text_folder / "model", tmp_path / "lines", "--text", "-k", 1) == "meat\nbread\n"

    def test_texts_need_no_labels(self, text_folder, tmp_path):
        (tmp_path / "new.jsonl").write_text('{"text": "steak"}\n{"text": "bread"}\n')
        assert succeed("predict", text_folder / "model", tmp_path / "new.jsonl", "-k", 1) == "meat\nbread\n"

    def test_json_lines_from_standard_input_are_their_texts(self, text_folder):
        plain = succeed("predict", text_folder / "model", "-", input="knead the dough for bread\n")
        line = json.dumps({"text": "knead the dough for bread", "labels": ["meat"]})
        assert (
            succeed("predict", text_folder / "model", "-", input=f"{line}\n") == plain
        )  # the label is not read as a word
        broken = succeed("predict", text_folder / "model", "-", input="{knead the dough for bread\n")
        assert broken == plain  # only a text that begins with a brace

    def test_what_is_read_is_not_replaced(self, folder, tmp_path):
        source = tmp_path / "points.txt"
        source.write_bytes((folder / "test.txt").read_bytes())
        before = source.read_bytes()
        assert "would replace" in fail("predict", folder / "model", source, "-o", source)
        assert source.read_bytes() == before
        assert "would replace" in fail("predict", folder / "model", source, "-o", folder / "model" / "model.json")

    def test_more_labels_than_there_are_take_no_memory(self, folder, data):
        lines = succeed("predict", folder / "model", folder / "test.txt", "-k", 10**12).splitlines()
        assert max(len(line.split("\t")) for line in lines) <= data.n_labels

    @pytest.mark.parametrize("header", [True, False])
    def test_xmc_lines_from_standard_input(self, folder, header):
        lines = (folder / "test.txt").read_text().split("\n", 1)[not header :]
        answers = succeed("predict", folder / "model", "-", input="\n".join(lines))
        assert answers == succeed("predict", folder / "model", folder / "test.txt")

    def test_a_wrong_line_of_standard_input_is_told_by_its_number(self, folder):
        assert "standard input, line 2: " in fail("predict", folder / "model", "-", input=" 1:1\n x:1\n")

    def test_json_lines_may_not_know_all_features(self, folder, tmp_path):
        (tmp_path / "few.jsonl").write_text('{"features": {"3": 1.0}, "labels": []}\n')
        assert succeed("predict", folder / "model", tmp_path / "few.jsonl").count("\t") == 4

    def test_a_file_is_written_whole_or_not_at_all(self, folder, tmp_path):
        target = tmp_path / "answers.txt"
        assert succeed("predict", folder / "model", folder / "test.txt", "--output", target) == ""
        assert target.read_text() == succeed("predict", folder / "model", folder / "test.txt")
        before = target.read_bytes()
        fail("predict", folder / "model", folder / "train.txt", "--output", target, "--n-jobs", 0)
        assert target.read_bytes() == before
        assert list(tmp_path.iterdir()) == [target]

    @pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
    def test_a_device_is_written_to_and_not_replaced(self, folder):
        succeed("predict", folder / "model", folder / "test.txt", "--output", "/dev/null")
        assert not os.path.isfile("/dev/null")


class TestEvaluate:
    def test_equals_the_python_interface(self, folder, data, fitted):
        from neartag import metrics

        labels, _ = fitted.predict_topk(data.X[300:], 5)
        report = json.loads(succeed("evaluate", folder / "model", folder, "--json", "--n-jobs", 1))
        assert report["metrics"] == metrics.evaluate(labels, data.Y[300:], Y_train=data.Y[:300])
        assert report["by_frequency"] == metrics.by_frequency(labels, data.Y[300:], data.Y[:300])
        assert report["points"] == 60

    def test_prints_a_table(self, folder):
        shown = succeed("evaluate", folder / "model", folder / "test.txt", "--train", folder / "train.txt")
        for word in ("precision", "nDCG", "recall", "propensity-scored", "@5", "101+", "pairs"):
            assert word in shown

    def test_propensities_are_settable(self, folder):
        arguments = ("evaluate", folder / "model", folder, "--json")
        usual, other = (json.loads(succeed(*arguments, *more)) for more in ((), ("--propensity-b", 0.4)))
        assert usual["metrics"]["P@1"] == other["metrics"]["P@1"]
        assert usual["metrics"]["PSP@1"] != other["metrics"]["PSP@1"]

    def test_labels_go_by_name_and_unknown_ones_count_as_missed(self, text_folder, tmp_path):
        points = [{"text": "steak", "labels": ["meat"]}, {"text": "bread", "labels": ["zebra", "bread"]}]
        (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, points)))
        report = json.loads(succeed("evaluate", text_folder / "model", tmp_path / "test.jsonl", "--json"))
        assert report["metrics"]["P@1"] == 100
        assert report["metrics"]["R@5"] == 75
        sparse = [
            {"features": {"0": 1}, "labels": ["meat"]},
            {"features": {"0": 1}, "labels": ["zebra"]},
        ]
        (tmp_path / "sparse.jsonl").write_text("\n".join(map(json.dumps, sparse)))
        report = json.loads(succeed("evaluate", text_folder / "model", tmp_path / "sparse.jsonl", "--json"))
        assert report["by_frequency"]["0-5"]["pairs"] == 1

    def test_points_without_labels_and_unknown_labels_are_told(self, text_folder, folder, tmp_path):
        lists = [["meat"], ["zebra", "bread"], [], ["lion"], []]
        lines = [json.dumps({"text": "steak", "labels": labels}) for labels in lists]
        (tmp_path / "test.jsonl").write_text("\n".join(lines))
        arguments = ("evaluate", text_folder / "model", tmp_path / "test.jsonl", "-q")
        report = json.loads(succeed(*arguments, "--json"))
        assert (report["points"], report["points_without_labels"]) == (5, 2)
        assert (report["labels"], report["unknown_labels"]) == (4, 2)
        shown = succeed(*arguments)
        assert "documents without a label: 2 of 5, which score 0" in shown
        assert "labels that the model does not know: 2 of 4, which it cannot find" in shown
        shown = succeed("evaluate", folder / "model", folder / "test.txt")
        assert "without a label" not in shown
        assert "does not know" not in shown


class TestInspect:
    def test_json(self, folder, fitted):
        report = json.loads(succeed("inspect", folder / "model", "--json"))
        assert report["parameters"] == fitted.model_.parameters
        assert len(report["learners"]) == 2
        for described, learner in zip(report["learners"], fitted.model_.learners, strict=True):
            assert described["cluster_sizes"] == [len(cluster.members) for cluster in learner.clusters]
            assert sum(described["cluster_sizes"]) == 300
            assert 0 <= described["unexplained"]["min"] <= described["unexplained"]["max"] <= 1
        assert report["bytes"] == sum(report["files"].values())

    def test_prints_every_parameter_and_file(self, folder):
        shown = succeed("inspect", folder / "model", "--all")
        stored = store.inspect(folder / "model")
        for name in (*stored["settings"]["parameters"], *stored["files"], "unexplained"):
            assert name in shown


class TestConvert:
    def test_there_and_back(self, folder, tmp_path):
        assert "60 points, 150 features, 30 labels" in succeed("convert", folder / "test.txt", tmp_path / "t.npz")
        report = json.loads(succeed("convert", tmp_path / "t.npz", tmp_path / "t.jsonl.gz", "--json"))
        assert report["bytes"] == (tmp_path / "t.jsonl.gz").stat().st_size
        assert succeed("convert", tmp_path / "t.jsonl.gz", tmp_path / "t.txt", "--quiet") == ""
        assert (tmp_path / "t.txt").read_bytes() == (folder / "test.txt").read_bytes()


class TestMistakes:
    """Each is one line and status 2; `fail` sees to that."""

    def test_in_data(self, folder, tmp_path):
        model = tmp_path / "m"
        assert "no such file" in fail("train", tmp_path / "missing.txt", model)
        assert "known are debian" in fail("train", "missing", model)
        assert "NEARTAG_DATA" in fail("train", "bibtex", model)
        (tmp_path / "garbage.txt").write_bytes(b"\x00\xff garbage\n")
        assert "garbage.txt:1:" in fail("train", tmp_path / "garbage.txt", model)
        (tmp_path / "garbage.npz").write_bytes(b"PK garbage")
        assert "garbage.npz" in fail("train", tmp_path / "garbage.npz", model)
        (tmp_path / "empty.txt").touch()
        assert "empty" in fail("train", tmp_path / "empty.txt", model)
        (tmp_path / "text.jsonl").write_text('{"text": 1}\n')
        assert "not trained on texts" in fail("predict", folder / "model", tmp_path / "text.jsonl")
        assert "text.jsonl:1:" in fail("train", tmp_path / "text.jsonl", model)
        (tmp_path / "other.txt").write_text("1 7 30\n0 3:1\n")
        assert "7 features" in fail("predict", folder / "model", tmp_path / "other.txt")
        (tmp_path / "other.txt").write_text("1 150 9\n0 3:1\n")
        assert "9 labels" in fail("evaluate", folder / "model", tmp_path / "other.txt")
        assert "not trained on texts" in fail("predict", folder / "model", "debian")
        assert "ending" in fail("train", folder / "model" / "model.json", model)
        assert not model.exists()

    @pytest.mark.parametrize("name", ["arr.json", "README.md", "texts.parquet.gz"])
    def test_in_the_ending_of_a_file(self, tmp_path, name):
        (tmp_path / name).write_text('{"text": "a", "labels": ["b"]}\n')
        said = fail("train", tmp_path / name, tmp_path / "m")
        for ending in (
            ".jsonl",
            ".ndjson",
            ".csv",
            ".tsv",
            ".xlsx",
            ".parquet",
            ".ft",
            ".txt",
            ".xmc",
            ".svm",
            ".npz",
            ".gz",
        ):
            assert f"{ending}" in said
        assert "--format, jsonl, csv, tsv, excel, parquet, fasttext or folder" in said
        said = fail("train", tmp_path / name, tmp_path / "m", "--format", "xml")
        assert said == "error: --format must be jsonl, csv, tsv, excel, parquet, fasttext or folder, not 'xml'\n"

    def test_in_a_folder_of_data(self, text_folder, tmp_path):
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "page.md").write_text("# words\n")
        for arguments in (("train", tmp_path / "docs", tmp_path / "m"), ("evaluate", text_folder / "model", tmp_path)):
            said = fail(*arguments)
            assert "a folder may hold train.txt and test.txt (rows of features), train.jsonl and test.jsonl" in said
            assert "NAME.labels" in said

    def test_in_the_parts_of_a_folder(self, tmp_path):
        (tmp_path / "test.jsonl").write_text('{"text": "a", "labels": ["b"]}\n')
        said = fail("train", tmp_path, tmp_path / "m")
        assert said == f"error: data set '{tmp_path}' has no part 'train': {tmp_path} has parts test\n"

    def test_in_empty_arguments(self, folder, tmp_path):
        for name in ("", " "):
            assert "DATA is empty" in fail("train", name, tmp_path / "m")
            assert "DATA is empty" in fail("evaluate", folder / "model", name)
            assert "MODEL is empty" in fail("train", folder / "train.txt", name)
            assert "MODEL is empty" in fail("predict", name, folder / "test.txt")

    def test_in_memory(self, folder, tmp_path):
        arguments = ["train", folder / "train.txt", tmp_path / "m", *SMALL, "--max-memory"]
        said = fail(*arguments, "1KB")
        assert "max_memory leaves" in said
        assert "allow at least" in said
        assert "--max-memory must be a number of bytes or a size such as '4GB'" in fail(*arguments, "nonsense")
        assert "not '-1GB'" in fail(*arguments, "-1GB")
        assert not (tmp_path / "m").exists()

    def test_in_the_model(self, folder, tmp_path):
        assert "no folder" in fail("predict", tmp_path / "missing", folder / "test.txt")
        assert "not a model folder" in fail("inspect", tmp_path)
        assert "not a model folder" in fail("evaluate", folder / "test.txt", folder / "test.txt")
        (tmp_path / "model.json").write_text("{}")
        assert "not neartag's" in fail("inspect", tmp_path)
        assert "not neartag's" in fail("train", folder / "train.txt", tmp_path, "--overwrite")
        assert "and no model" in fail("train", folder / "train.txt", folder)

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (
                ["--vote-neighbours", "0"],
                "--vote-neighbours must be a whole number from 1 to 2147483647 or 'auto', not '0'",
            ),
            (["--embedding-dim", "ten"], "--embedding-dim must be"),
            (["--n-clusters", "2.5"], "must be a whole number of at least 1 or 'auto' or 'paper', not '2.5'"),
            (["--label-similarity", "dot"], "--label-similarity must be 'cosine' or 'inner', not 'dot'"),
            (["--l2", "nan"], "--l2 must be"),
            (["--l2", "-1"], "--l2 must be"),
            (["--n-jobs", "0"], "n_jobs must be"),
            (["--preset", "nonsense"], "there is no preset 'nonsense'"),
            (["--nonsense", "1"], "No such option"),
        ],
    )
    def test_in_the_options_of_train(self, folder, tmp_path, arguments, expected):
        assert expected in fail("train", folder / "train.txt", tmp_path / "m", *arguments)
        assert not (tmp_path / "m").exists()

    def test_in_other_arguments(self, folder, tmp_path):
        assert "-k must be" in fail("predict", folder / "model", folder / "test.txt", "-k", 0)
        assert "-k" in fail("predict", folder / "model", folder / "test.txt", "-k", "many")
        assert "--propensity-b" in fail("evaluate", folder / "model", folder, "--propensity-b", "x")
        assert "b > 0" in fail("evaluate", folder / "model", folder, "--propensity-b", 0)
        assert "ending" in fail("convert", folder / "test.txt", tmp_path / "t.unknown")
        assert "same file" in fail("convert", folder / "test.txt", folder / "." / "test.txt")
        assert "No such command" in fail("nonsense")
        assert "Missing argument" in fail("train")
        assert "predict --help)" in fail("predict", "--nonsense")

    def test_in_the_place_to_write_to(self, folder, tmp_path, monkeypatch):
        file = folder / "test.txt"
        broken = tmp_path / "broken.txt"
        broken.write_text("no numbers\n")  # the place is found out before anything is read
        assert "is a file" in fail("train", broken, file)
        assert "Not a directory" in fail("train", broken, file / "below")
        assert "there is no folder" in fail("predict", folder / "model", file, "--output", tmp_path / "no" / "file")
        assert "cannot be written" in fail("convert", file, tmp_path / "no" / "file.npz")
        assert "is a file" in fail("demo", "--model", file)
        assert "--overwrite" in fail("demo", "--model", folder / "model")

        def refuse(**_):
            raise PermissionError(errno.EACCES, "Permission denied", "place")

        monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
        assert "Permission denied" in fail("train", broken, tmp_path / "m")

    def test_a_wrong_argument_is_told_before_any_library_of_numbers_is_loaded(self, tmp_path):
        commands = [
            ("train", "absent.csv", "m"),
            ("tag", "absent", "x"),
            ("tune", "a/b"),
            ("compare", "a/b"),
            ("train", "texts.jsonl", "m", "--features", "wrods"),
            ("train", "texts.jsonl", "m", "--language", "klingon"),
            ("train", "texts.jsonl", "m", "--min-df", "x"),
            ("compare", "--train", "texts.jsonl", "--test", "more.jsonl", "--features", "wrods"),
        ]
        for name in ("texts.jsonl", "more.jsonl"):
            (tmp_path / name).write_text('{"text": "a", "labels": ["b"]}\n')
        # One process for all, which takes an eighth of the time: it says after each what is loaded by then.
        program = """
import json, sys
from neartag.cli.main import run
for command in json.loads(sys.argv.pop()):
    sys.argv[1:] = command
    try:
        run()
    except SystemExit as ended:
        print(json.dumps([command, ended.code, sorted({"numpy", "scipy", "numba", "sklearn"} & set(sys.modules))]))
"""
        words = [sys.executable, "-c", program, json.dumps(commands)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert [json.loads(line) for line in done.stdout.splitlines()] == [[list(each), 2, []] for each in commands]
        told = done.stderr.splitlines()
        assert len(told) == len(commands)
        assert all(line.startswith("error: ") for line in told)

    def test_an_error_of_the_system_names_the_file(self, text_folder, tmp_path):
        line = fail("predict", text_folder / "model", tmp_path / "missing", "--text")
        assert line == f"error: {tmp_path / 'missing'}: {os.strerror(errno.ENOENT)}\n"

    def test_a_bug_keeps_its_traceback(self, folder, monkeypatch):
        monkeypatch.setattr("neartag.storage.store.load", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            invoke("inspect", folder / "model")


class TestHelp:
    def test_every_parameter_is_an_option_of_train(self):
        shown = " ".join(succeed("train", "--help").split())
        for parameter in PARAMETERS:
            assert f"{options.flag(parameter)} " in shown
            assert parameter.help.split(";")[0].split("(")[0].split(",")[0] in shown

    @pytest.mark.parametrize("flag", ["-h", "--help"])
    def test_lists_the_commands(self, flag):
        shown = succeed(flag)
        for command in ("demo", "train", "predict", "evaluate", "inspect", "methods", "compare", "convert"):
            assert f"\n  {command} " in shown
            assert "Usage: " in succeed(command, flag)
        assert shown == succeed()

    def test_version(self):
        assert succeed("--version") == f"neartag {__version__}\n"

    def test_loads_nothing_heavy_and_few_modules(self):
        code = (
            "import sys\nfrom neartag.cli.main import run\ntry:\n    run()\nfinally:\n"
            "    heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'joblib'} & set(sys.modules)\n"
            "    print(sorted(heavy), len(sys.modules), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
        heavy, _, count = done.stderr.strip().rpartition(" ")
        assert heavy == "[]"
        assert int(count) < HELP_MODULES, "about 180 are loaded; numpy alone would add as many"


class TestProcess:
    """What only a real process shows."""

    def test_results_and_nothing_else_on_standard_output(self, folder):
        process = start("inspect", folder / "model", "--json", "--quiet")
        shown, told = process.communicate()
        assert process.returncode == 0
        assert json.loads(shown)["kind"] == "x1"
        assert told == ""

    def test_a_mistake(self, folder):
        process = start("inspect", folder)
        shown, told = process.communicate()
        assert (process.returncode, shown) == (2, "")
        assert told.startswith("error: ")

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes and devices")
    def test_a_closed_pipe_is_no_matter(self, folder):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "neartag.cli", "inspect", str(folder / "model"), "--quiet"]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert done.stderr == ""
        assert done.returncode == 1

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_a_full_disk_is_one_line(self, folder):
        with open("/dev/full", "w") as full:
            command = [
                sys.executable,
                "-m",
                "neartag.cli",
                "predict",
                str(folder / "model"),
                str(folder / "test.txt"),
                "-q",
            ]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.stderr == f"error: standard output: {os.strerror(errno.ENOSPC)}\n"
        assert done.returncode == 2

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
    def test_an_interrupt_is_quiet_and_leaves_nothing(self, tmp_path):
        # What a shell starts in the background ignores interrupts, and so would all that it starts.
        heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
        process = start("demo", "--model", tmp_path / "m", **heard)
        assert process.stderr.readline().startswith("learning")
        # In the midst of the work: Python drops an interrupt that comes while a library is being imported.
        assert "after" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate()
        # Python ends itself by the signal where that has hit a library in the midst of exec(); shells call both 130.
        assert process.returncode in (130, -signal.SIGINT)
        assert shown == ""
        assert told.splitlines()[-1] == "interrupted"
        assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return json.loads(succeed("demo", "--quick", "--model", tmp_path_factory.mktemp("demo") / "m", "--json", "-q"))


class TestDemo:
    def test_x1_beats_the_floors(self, report):
        frequent, nearest, ridge, x1 = report["results"]
        for metric in ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"):
            assert frequent[metric] < nearest[metric] < x1[metric]
            assert ridge[metric] > nearest[metric]
        assert x1["method"] == "X1"

    def test_voters_explain_the_scores(self, report):
        assert len(report["examples"]) >= 3
        for example in report["examples"]:
            for label in example["labels"]:
                shares = [voter["share"] for voter in label["voters"]]
                assert shares == sorted(shares, reverse=True)
                assert sum(shares) <= label["share"] + 1e-3
                assert bool(shares) == (label["share"] > 0)
                assert shares or label["words"], "nobody voted so, but its ranker tells why"

    def test_tags_what_it_was_made_for(self, report):
        chess = next(example for example in report["examples"] if "chess" in example["text"])
        assert "use::gameplaying" in [label["label"] for label in chess["labels"]]

    def test_the_model_can_be_used(self, report):
        answers = succeed("predict", report["model"], "-", "-k", 3, input="a chess game\n")
        assert "use::gameplaying" in answers.split("\t")

    def test_prints_tables_and_what_is_next(self, report, capsys):
        from neartag.cli.demo import show

        show(report)
        shown = capsys.readouterr().out
        for word in (
            "PSP@5",
            "linear ridge regression",
            "packages that voted for it",
            "%",
            "neartag tag",
            "neartag serve",
        ):
            assert word in shown


class TestParts:
    def test_shares_of_all_voters_add_up_to_the_score(self, data, fitted):
        for best, share_of in votes(fitted.model_, data.X[300:310], 5):
            for label, score in best:
                own = [share for point, share in share_of.items() if label in labels_of(fitted.model_, point)]
                assert sum(own) == pytest.approx(score)

    def test_neighbours_are_chosen_on_whole_groups(self, data):
        groups = [str(row // 3) for row in range(data.n_points)]
        neighbours, vote = references.best_neighbours(data.X, data.Y, groups)
        assert neighbours in references.NEIGHBOURS
        assert vote in ("uniform", "similarity")
        with pytest.raises(ParameterError, match="one group"):
            references.best_neighbours(data.X, data.Y, ["same"] * data.n_points)

    def test_values_of_options(self):
        by_name = {parameter.name: parameter for parameter in PARAMETERS}
        assert options.read_value(by_name["n_clusters"], "auto") == "auto"
        assert options.read_value(by_name["n_clusters"], "3") == 3
        assert options.read_value(by_name["random_state"], "None") is None
        assert options.read_value(by_name["l2"], "1e-5") == 1e-5
        for parameter in PARAMETERS:
            assert options.read_value(parameter, str(parameter.default)) == parameter.default

    @pytest.mark.parametrize(
        ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (12_345, "12.3 kB"), (3e9, "3.0 GB")]
    )
    def test_bytes_for_people(self, count, text):
        assert output.human_bytes(count) == text

    def test_plain_tables_are_aligned(self, capsys):
        output.show_table(["name", "n", "about"], [["a", "10", "x"], ["long name", "5", "y"]], title="T", words=(0, 2))
        lines = ["T", "name        n  about", "---------  --  -----", "a          10  x", "long name   5  y"]
        assert capsys.readouterr().out.splitlines() == lines

    def test_tables_are_drawn_on_a_terminal(self, capsys, monkeypatch):
        from rich.console import Console

        monkeypatch.setattr(
            output, "find_terminal", lambda: Console(width=60, force_terminal=True, color_system="standard")
        )
        output.show_table(["name", "n"], [["[red]a", "10"], ["b", "5"]], title="T", strong=1)
        output.show_pairs([("key", "[value]")])
        shown = capsys.readouterr().out
        assert "─" in shown
        assert "[red]a" in shown  # names are never taken for markup
        assert "[value]" in shown
        assert "\x1b[" in shown

    # Clears the screen, sets the title in two ways, rings, goes back: as bytes that a terminal obeys.
    DRIVING = "a\x1b[2Jb\x1b]0;owned\x07c\x9b31md\x7fe\x08f\rg\nh\x00"
    SHOWN = r"a\x1b[2Jb\x1b]0;owned\x07c\x9b31md\x7fe\x08f\rg\nh\x00"

    @pytest.mark.parametrize("on_terminal", [False, True])
    def test_names_cannot_drive_the_terminal(self, capsys, monkeypatch, on_terminal):
        from rich.console import Console

        if on_terminal:
            monkeypatch.setattr(
                output, "find_terminal", lambda: Console(width=400, force_terminal=True, color_system=None)
            )
        driving = self.DRIVING
        output.show_table(["tag", driving], [[driving, "@"]], title=driving, words=(0, 1))
        output.show_pairs([(driving, "x"), ("key", driving)])
        shown = capsys.readouterr().out
        assert shown.count(self.SHOWN) == 5
        assert not {sign for sign in shown if unicodedata.category(sign) == "Cc"} - {"\n"}
        lines = [line for line in shown.splitlines() if line.strip(" ─-")]
        assert len(lines) == 5, "each stands in one line, and what is aligned stays so"
        assert lines[1].index(self.SHOWN) == lines[2].index("@")

    def test_json_cannot_drive_the_terminal_and_says_the_same(self):
        for ascii_only in (False, True):
            line = output.json_line({self.DRIVING: ["é", self.DRIVING]}, ascii_only=ascii_only)
            assert json.loads(line) == {self.DRIVING: ["é", self.DRIVING]}
            assert not [sign for sign in line if unicodedata.category(sign) == "Cc"]
        assert output.json_line("é\x9b") == '"é\\u009b"'

    def test_what_is_no_control_character_is_shown_as_it_is(self, capsys):
        name = "é λ 日本 שלום 👩\u200d🔬 \\x1b \xa0|"
        output.show_pairs([("name", name)])
        assert capsys.readouterr().out == f"name  {name}\n"

    def test_json_on_an_old_terminal_is_still_json(self):
        assert json.loads(output.json_line({"λ": np.float32(0.5)}, ascii_only=True)) == {"λ": 0.5}
        assert output.json_line("λ") == '"λ"'

    def test_cost_is_measured(self):
        cost = usage.Usage()
        sum(range(10**6))
        assert cost.measure()["cpu_seconds"] > 0
