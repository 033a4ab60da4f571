"""The report of an evaluation: its figures, its page, which shows the figures of --json, and its table of labels."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cli_helpers import fail, succeed
from neartag.evaluation.propensities import LabelCounts
from neartag.report import labels_section, page, svg
from neartag.report.evaluation import choose_depth, make_evaluation
from neartag.report.figures import measure
from neartag.report.hierarchy import label_nodes
from neartag.report.markup import clean, percent, score
from neartag.report.worst import shorten
from neartag.vocabulary.concepts import Concept, Vocabulary

VOID = {"meta", "br", "input"}
OPTIONS = ("--no-refine", "--embedding-dim", 3, "--vote-neighbours", 2, "--features", "words", "--n-jobs", 1, "--quiet")
TRAIN = [
    ("bake bread in the oven", ["bread"]),
    ("bread with butter", ["bread", "butter"]),
    ("butter and cake", ["cake", "butter"]),
    ("a cake in the oven", ["cake"]),
    ("ride a bicycle", ["cycling"]),
    ("the wheel of a bicycle", ["cycling"]),
] * 4
HARM = "<script>alert(1)</script>"
TEST = [
    ("bread from the oven", ["bread"], "one"),
    ("cake with butter", ["cake", "butter"], "two"),
    (f"a bicycle {HARM}\x00", ["bread", HARM], f"three {HARM}"),
    ("butter", [], "four"),
]


class Tree(HTMLParser):
    """Reads a page; fails where a tag is closed that is not the last one opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.tables, self.ids, self.links, self.texts = [], [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in VOID and not (self.open and "svg" in self.open and tag in ("path", "circle", "rect")):
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        self.texts.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model, documents, and their report as JSON, page and TSV."""
    folder = tmp_path_factory.mktemp("report")
    for name, documents in (("train", [(*each, None) for each in TRAIN]), ("test", TEST)):
        lines = (
            json.dumps({"text": text, "labels": labels, **({"id": key} if key else {})})
            for text, labels, key in documents
        )
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    succeed("train", folder / "train.jsonl", folder / "model", *OPTIONS)
    found = succeed(
        *("evaluate", folder / "model", folder / "test.jsonl", "--json", "--quiet", "--n-jobs", 1),
        *("--report", folder / "report.html", "--labels-tsv", folder / "labels.tsv", "--threshold", 0.3),
    )
    (folder / "report.json").write_text(found)
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def tree(folder):
    return Tree((folder / "report.html").read_text())


def test_the_page_is_well_formed_and_needs_nothing_else(tree, folder):
    assert [link for link in tree.links if link.removeprefix("#") not in tree.ids] == []
    assert len(set(tree.ids)) == len(tree.ids)
    for tag, attributes in tree.tags:
        assert not {"src", "style", "onclick"} & set(attributes), tag
        assert tag != "link"
    text = (folder / "report.html").read_text()
    assert re.findall(r"(?:https?:)?//[a-z]", text) == []
    policy = next(attributes["content"] for tag, attributes in tree.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_can_be_read_aloud_and_used_by_keyboard(tree):
    assert ("html", {"lang": "en"}) in tree.tags
    drawings = [attributes for tag, attributes in tree.tags if tag == "svg"]
    assert [each["aria-labelledby"] in tree.ids for each in drawings] == [True, True]
    for tag, attributes in tree.tags:
        assert tag != "th" or attributes["scope"] in ("row", "col")
        if "scroll" in attributes.get("class", "").split():
            assert (attributes["role"], attributes["tabindex"]) == ("region", "0")
            assert attributes["aria-label"]


def test_nothing_from_outside_is_taken_for_markup(folder, report):
    text = (folder / "report.html").read_text()
    assert HARM not in text
    assert text.count("<script>") == 1
    assert clean(HARM) in text
    assert report["worst"][0]["id"] == f"three {HARM}"


def test_numbers_of_the_page_are_those_of_json(tree, report):
    first, ways, bins, bands, by_k, labels, annif = tree.tables
    for row in first[1:]:
        name = next(each for each in ("PSnDCG", "PSP", "nDCG", "P", "R") if row[0].startswith(each))
        assert row[1:] == [percent(report["metrics"][f"{name}@{k}"]) for k in (1, 3, 5)]
    for row, way in zip(ways[1:], report["thresholds"], strict=True):
        assert row[3:6] == [percent(way["micro"][name]) for name in ("precision", "recall", "f1")]
        assert row[6:] == [percent(way["macro"]["f1"]), percent(way["documents"]["f1"])]
    assert [row[1] for row in bins[1:]] == [f"{each['answers']:,}" for each in report["reliability"]["bins"]]
    assert [row[6] for row in bands[1:]] == [
        percent(band["f1"]) for band in report["by_frequency_at_threshold"].values()
    ]
    assert [row[1] for row in by_k[1:]] == [percent(band["P@1"]) for band in report["by_frequency"].values()]
    fields = ("count", "f1", "precision", "recall", "given", "right", "training")
    for row, label in zip(labels[1:], report["by_label"], strict=True):
        assert row[0] == label["label"]
        shown = [percent(label[name]) if name in fields[1:4] else str(label[name]) for name in fields]
        assert row[1:8] == shown
    assert {row[0]: float(row[1]) for row in annif[1:]} == pytest.approx(report["annif"], abs=1e-4)
    assert any(f"{percent(report['metrics']['P@1'])}%" in text for text in tree.texts)


def test_figures_by_hand(report):
    assert (report["points"], report["points_without_labels"], report["unknown_labels"]) == (4, 1, 1)
    assert report["threshold"] == {"value": 0.3, "source": "asked"}
    assert [way["name"] for way in report["thresholds"]] == ["asked", "here", "top5"]
    by_label = {each["label"]: each for each in report["by_label"]}
    assert (by_label["bread"]["count"], by_label["bread"]["training"], by_label["bread"]["right"]) == (2, 8, 1)
    assert (by_label["bread"]["recall"], by_label["bread"]["confused_with"]) == (50, "cycling")
    assert by_label[HARM]["training"] == by_label[HARM]["given"] == 0
    assert (by_label[HARM]["precision"], by_label["cycling"]["recall"]) == (None, None)
    assert report["documents"]["labelled"] == 3
    assert report["documents"]["none_right"] == 1
    assert report["worst"][0]["text"].startswith("a bicycle <script>")
    assert [each["label"] for each in report["worst"][0]["true"]] == ["bread", HARM]
    assert [each["right"] for each in report["worst"][0]["given"]] == [False]
    assert "bicycle" in report["worst"][0]["voters"][0]["words"]
    assert report["hierarchical"] is None


def test_labels_as_tsv(folder, report):
    head, *lines = (folder / "labels.tsv").read_text().splitlines()
    fields = head.split("\t")
    assert len(lines) == len(report["by_label"])
    for line, label in zip(lines, report["by_label"], strict=True):
        row = dict(zip(fields, line.split("\t"), strict=True))
        assert (row["label"], int(row["count"]), int(row["given"])) == (label["label"], label["count"], label["given"])
        assert row["precision"] == ("" if label["precision"] is None else f"{label['precision']:.2f}")


def test_the_page_shows_the_most_frequent_labels_only(report, monkeypatch):
    monkeypatch.setattr(labels_section, "MAX_ROWS", 2)
    text = page.make_report(report, "some/where/model/", "data")
    assert f"the 2 most frequent of {len(report['by_label'])} labels" in text
    assert len(Tree(text).tables[-2]) == 3
    assert "<h1>How good is model?</h1>" in text


def test_without_a_threshold_the_best_one_here_is_taken_and_told(folder):
    arguments = ("evaluate", folder / "model", folder / "test.jsonl", "--quiet")
    found = json.loads(succeed(*arguments, "--json", "--report", folder / "other.html"))
    assert found["threshold"]["source"] == "here"
    assert found["at_threshold"]["micro"]["f1"] == max(way["micro"]["f1"] for way in found["thresholds"])
    assert found["at_threshold"]["micro"]["f1"] == pytest.approx(100 * max(cut["f1"] for cut in found["curve"]))
    assert "a little too good" in (folder / "other.html").read_text()
    shown = succeed(*arguments)
    assert "F1 micro" in shown
    assert "the best here" in shown


def test_frequencies_of_other_documents_are_those_of_the_same_labels(folder):
    documents = [{"text": "oven", "labels": ["aardvark", "bread"]}, {"text": "bicycle", "labels": ["bread"]}]
    (folder / "more.jsonl").write_text("\n".join(map(json.dumps, documents)))
    arguments = ("evaluate", folder / "model", folder / "test.jsonl", "--quiet", "--json")
    found = json.loads(succeed(*arguments, "--train", folder / "more.jsonl"))
    frequency = {each["label"]: each["training"] for each in found["by_label"]}
    assert (frequency["bread"], frequency["cake"], frequency[HARM]) == (2, 0, 0)


def test_rows_of_features_have_a_report_too(tmp_path):
    chance = np.random.default_rng(0)
    lines = [f"{number % 3} {number % 3}:1 {3 + number % 2}:{chance.random():.3f}" for number in range(30)]
    for part in ("train", "test"):
        (tmp_path / f"{part}.txt").write_text("30 5 3\n" + "\n".join(lines) + "\n")
    for method in ("x1", "knn"):
        settings = ("--embedding-dim", 2, "--no-refine") if method == "x1" else ()
        succeed("train", tmp_path, tmp_path / method, "--method", method, *settings, "--n-jobs", 1, "--quiet")
        arguments = ("evaluate", tmp_path / method, tmp_path, "--quiet", "--threshold", 1)
        found = json.loads(succeed(*arguments, "--json", "--report", tmp_path / "report.html", "--overwrite"))
        assert [each["label"] for each in found["by_label"]] == ["0", "1", "2"]
        tree = Tree((tmp_path / "report.html").read_text())
        assert len(tree.tables) >= 6
        for document in found["worst"]:
            assert document["text"] is None
            assert all(label in ("0", "1", "2") for voter in document["voters"] for label in voter["labels"])


def test_a_file_that_cannot_be_written_is_told_before_any_work(folder):
    for option in ("--report", "--labels-tsv"):
        arguments = ("evaluate", folder / "model", folder / "test.jsonl", option)
        assert "no folder" in fail(*arguments, folder / "nowhere" / "file")
    assert "--threshold" in fail("evaluate", folder / "model", folder / "test.jsonl", "--threshold", "high")


def test_broader_terms_of_a_vocabulary():
    concepts = (
        Concept("animals", "a"),
        Concept("dogs", "d", broader=("a",)),
        Concept("poodles", "p", broader=("d", "elsewhere")),
        Concept("plants", "o"),
        Concept("oaks", "t", broader=("o",)),
    )
    nodes = label_nodes(["poodles", "stones", "dogs", "oaks"], Vocabulary(concepts))
    assert nodes.toarray().tolist() == [[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]
    # What is above everything is nothing that two labels have in common.
    nodes = label_nodes(["poodles", "dogs", "animals"], Vocabulary(concepts[:3]))
    assert nodes.toarray().tolist() == [[0, 1, 1], [0, 1, 0], [1, 0, 0]]
    assert label_nodes(["dogs"], Vocabulary(concepts[:1])) is None
    assert label_nodes(["dogs"], None) is None


def test_a_near_miss_is_partly_right():
    concepts = [Concept("animals", "a"), Concept("dogs", "d", broader=("a",)), Concept("poodles", "p", broader=("d",))]
    vocabulary = Vocabulary((*concepts, Concept("plants", "o"), Concept("oaks", "t", broader=("o",))))
    stored = SimpleNamespace(extras={}, vocabulary=vocabulary)
    names = ["poodles", "dogs"]
    answers = np.array([[1, -1]]), np.array([[0.9, 0.0]])
    evaluation = make_evaluation(
        stored, None, csr_matrix([[1.0, 0.0]]), answers, LabelCounts(np.array([3, 4]), 9), label_names=names
    )
    found = measure(evaluation, ks=(1,))
    assert found["at_threshold"]["micro"] == {"precision": 0, "recall": 0, "f1": 0}
    # Right: poodles, dogs, animals; given: dogs, animals.
    assert found["hierarchical"]["micro"] == pytest.approx({"precision": 100, "recall": 200 / 3, "f1": 80})
    assert found["threshold"]["source"] == "here"


def test_a_section_of_broader_terms(report):
    figures = {"precision": 12.3, "recall": 45.6, "f1": 19.4}
    found = {**report, "hierarchical": {"micro": figures, "documents": figures}}
    rows = [row for table in Tree(page.make_report(found, "m", "d")).tables for row in table]
    assert ["with broader terms, all labels counted alike", "12.3", "45.6", "19.4"] in rows


def test_a_model_that_answers_nothing_has_a_page(report):
    nothing = {"answers": 0, "error": 0.0, "brier": 0.0, "bins": []}
    ways = [way for way in report["thresholds"] if way["name"] != "here"]
    found = {**report, "curve": [], "reliability": nothing, "by_label": [], "worst": [], "thresholds": ways}
    Tree(page.make_report(found, "m", "d"))


def test_fewer_labels_are_looked_at_where_there_are_very_many_points():
    assert [
        choose_depth(*sizes, 5) for sizes in ((100, 10**6), (100, 20), (10, 2), (10**6, 10**6), (10**8, 10**6))
    ] == [*(50, 20, 5, 10, 5)]


def test_numbers_for_people():
    assert (percent(None), percent(99.96), score(0.31), score(0.0), score(0.0004)) == (
        "–",
        "100.0",
        "0.31",
        "0.00",
        "0.0004",
    )
    assert [svg._short(count) for count in (9, 9999, 12_345, 411_000, 2_345_678, 12_000_000)] == [
        *("9", "9999", "12k", "411k", "2.3M", "12M"),
    ]
    assert shorten("one  two\nthree", 100) == "one two three"
    assert shorten("one two three", 9) == "one two …"


def test_confusions_need_no_dense_matrix():
    from neartag.evaluation.confusions import find_confusions
    from neartag.evaluation.matches import match_labels

    width = 3_000_000
    Y = csr_matrix(([1.0, 1.0], ([0, 1], [width - 1, 5])), shape=(2, width))
    matches = match_labels(np.array([[7], [7]]), Y)
    other, times = find_confusions(matches, np.ones((2, 1), bool))
    assert (other[5], other[width - 1], times.sum()) == (7, 7, 2)


@pytest.mark.parametrize("option", ["--report", "--labels-tsv"])
def test_nothing_that_is_there_is_replaced_unasked(folder, tmp_path, option):
    data, old = tmp_path / "docs.jsonl", tmp_path / "old.txt"
    data.write_bytes((folder / "test.jsonl").read_bytes())
    old.write_text("mine")
    for target, told in (
        (data, "would replace a file that is read here"),
        (folder / "model" / "model.json", "would replace a file that is read here"),
        (old, "is there already: give --overwrite"),
    ):
        before = target.read_bytes()
        assert told in fail("evaluate", folder / "model", data, option, target)
        assert target.read_bytes() == before
    succeed("evaluate", folder / "model", data, option, old, "--overwrite", "--quiet")
    assert old.read_text() != "mine"


def test_page_and_table_are_two_files(folder, tmp_path):
    both = ("--report", tmp_path / "one", "--labels-tsv", tmp_path / "one")
    assert "are the same file" in fail("evaluate", folder / "model", folder / "test.jsonl", *both)
