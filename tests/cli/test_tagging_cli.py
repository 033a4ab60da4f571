"""From a file of documents to labels, reasons, additions and forgetting, as a person runs it."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
import sys

import numpy as np
import pytest

from cli_helpers import invoke
from neartag import LiveTagger
from neartag.cli.reading import Reading
from neartag.cli.update import add_in_batches
from neartag.core import progress
from neartag.core.errors import DataError


def run(*arguments, stdin=None):
    return invoke(*arguments, input=stdin)


OF_WORDS = ("--features", "words")  # where a test is not about their choice, since the trial takes longest
SENTENCES = {
    "garden": ["grow tomatoes in the garden", "prune the roses in early spring", "compost for the vegetable bed"],
    "kitchen": ["bake bread with flour and yeast", "tomato soup with fresh basil", "roast the vegetables slowly"],
    "cycling": ["repair a bicycle wheel", "the gears of a racing bicycle", "ride up the mountain in spring"],
}


def documents():
    chance = random.Random(0)
    for number in range(80):
        for label, texts in SENTENCES.items():
            for place, text in enumerate(texts):
                labels = [label, f"{label} {place}"]
                if chance.random() < 0.3:  # people do not all tag alike
                    labels.append(chance.choice(["outdoors", "home", "how-to"]))
                yield {"id": f"{label}-{place}-{number}", "text": f"{text} {number % 9}", "labels": labels}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tagging")
    (place / "docs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents()))
    done = run("train", place / "docs.jsonl", place / "model", *OF_WORDS, "--embedding-dim", "10", "--n-jobs", "1")
    assert done.exit_code == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def refined(folder):
    """The folder of a model that rankers decide in, with so few voters that some labels have none."""
    options = [*OF_WORDS, "--vote-neighbours", "2", "--embedding-dim", "10", "--n-jobs", "1"]
    done = run("train", folder / "docs.jsonl", folder / "refined", *options)
    assert done.exit_code == 0, done.stderr
    return folder / "refined"


@pytest.fixture
def model(folder, tmp_path):
    shutil.copytree(folder / "model", tmp_path / "model")
    return tmp_path / "model"


def labels_of(done) -> list[str]:
    return [each["label"] for each in json.loads(done.stdout)["labels"]]


def test_a_method_may_hasten_the_first_answer_of_its_models(folder, tmp_path, monkeypatch):
    hastened = []
    monkeypatch.setattr("neartag.x1.first_answer.hasten_first_answer", lambda model: hastened.append(model.kind))
    knn = ("train", folder / "docs.jsonl", tmp_path / "knn", *OF_WORDS, "--method", "knn", "--neighbours", "3", "-q")
    assert run(*knn).exit_code == 0
    assert run("tag", tmp_path / "knn", "a bicycle wheel").exit_code == 0
    assert hastened == []
    assert run("tag", folder / "model", "a bicycle wheel").exit_code == 0
    assert run("explain", folder / "model", "a bicycle wheel").exit_code == 0
    assert hastened == ["x1", "x1"]


def test_a_text_is_tagged(folder):
    done = run("tag", folder / "model", "a new bicycle wheel", "-k", "2")
    assert done.exit_code == 0, done.stderr
    assert "cycling" in done.stdout
    assert "%" in done.stdout
    assert set(labels_of(run("tag", folder / "model", "bread and yeast", "-k", "2", "--json"))) == {
        "kitchen",
        "kitchen 0",
    }


def test_several_texts_and_lines_of_input(folder):
    done = run("tag", folder / "model", "bicycle", "tomatoes", "--json")
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["bicycle", "tomatoes"]
    done = run("tag", folder / "model", "-", "--json", stdin="bicycle gears\nbasil soup\n")
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["bicycle gears", "basil soup"]


@pytest.mark.parametrize("name", ["model", "refined"])
def test_predict_gives_the_scores_of_tag(folder, refined, name):
    texts = ["a new bicycle wheel", "tomato soup", "prune the vegetable bed"]
    lines = "".join(f"{text}\n" for text in texts)
    tagged = [json.loads(line)["labels"] for line in run("tag", folder / name, "--json", *texts).stdout.splitlines()]
    predicted = run("predict", folder / name, "-", "--json", stdin=lines).stdout.splitlines()
    for tags, answer in zip(tagged, map(json.loads, predicted), strict=True):
        assert answer["labels"] == [tag["label"] for tag in tags]
        assert answer["scores"] == pytest.approx([tag["score"] for tag in tags], abs=1e-5)
    shown = run("predict", folder / name, "-", "--scores", stdin=lines).stdout
    assert [float(cell.rpartition(":")[2]) for cell in shown.split() if ":" in cell] == pytest.approx(
        [tag["score"] for tags in tagged for tag in tags], abs=1e-4
    )


@pytest.mark.parametrize("command", ["tag", "predict", "forget", "predict --text"])
def test_lines_that_are_not_utf_8_are_refused_by_their_number(command, folder, tmp_path):
    content = "bread\nGärtner\n".encode("latin-1")
    (tmp_path / "lines").write_bytes(content)
    name, *option = command.split()
    source = tmp_path / "lines" if option else "-"
    done = run(name, folder / "model", source, *option, stdin=content)
    assert done.exit_code == 2
    assert done.stdout == ""
    place = f"{source}:2" if option else "standard input, line 2"
    assert done.stderr.startswith(f"error: {place}: not UTF-8")


def test_a_model_without_labels_says_so(tmp_path):
    (tmp_path / "docs.jsonl").write_text("".join(f'{{"text": "a wheel {n}", "labels": []}}\n' for n in range(8)))
    done = run("train", tmp_path / "docs.jsonl", tmp_path / "model", *OF_WORDS, "--n-learners", "1", "--no-refine")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^labels L +0$", done.stdout, re.MULTILINE)
    assert "warning: no training point has a label: nothing will ever be predicted" in done.stderr
    for command in ("tag", "explain"):
        assert run(command, tmp_path / "model", "a wheel").stdout == "  no label\n"
    assert json.loads(run("explain", tmp_path / "model", "a wheel", "--json").stdout)["labels"] == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("hdr.csv", "text,labels\n", "there is no document to learn from"),
        ("dup.jsonl", '{"id": "a", "text": "b", "labels": ["c"]}\n' * 2, "documents 1 and 2 have the same id 'a'"),
        ("empty.jsonl", '{"text": "!", "labels": ["c"]}\n', "no word is left of 1 texts"),
    ],
)
def test_an_error_about_all_documents_names_the_file(name, content, words, tmp_path):
    (tmp_path / name).write_text(content)
    done = run("train", tmp_path / name, tmp_path / "model", *OF_WORDS)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {tmp_path / name}: {words}")


def test_a_threshold(folder):
    everything = labels_of(run("tag", folder / "model", "bicycle wheel", "--json"))
    sure = labels_of(run("tag", folder / "model", "bicycle wheel", "--json", "--threshold", "0.9"))
    assert set(sure) <= set(everything)
    done = run("tag", folder / "model", "x", "--threshold", "high")
    assert done.exit_code == 2
    assert "--threshold must be a score" in done.stderr


def test_an_explanation_names_documents_and_words(folder):
    done = run("explain", folder / "model", "the gears of my bicycle")
    assert done.exit_code == 0, done.stderr
    assert "cycling-" in done.stdout
    assert "bicycle" in done.stdout
    assert "of the votes" in done.stdout
    reasons = json.loads(run("explain", folder / "model", "the gears of my bicycle", "--json").stdout)["labels"]
    words = {word["word"] for reason in reasons for voter in reason["voters"] for word in voter["words"]}
    assert {"bicycle", "gears"} <= words


def test_a_new_label_is_predicted_after_adding(model, tmp_path):
    (tmp_path / "new.jsonl").write_text(
        '{"id": "n1", "text": "the wheel of a bicycle in the garden", "labels": ["sheds"]}\n'
    )
    done = run("add", model, tmp_path / "new.jsonl")
    assert done.exit_code == 0, done.stderr
    assert "sheds" in done.stdout
    assert "sheds" in labels_of(run("tag", model, "the wheel of a bicycle in the garden", "--json"))
    assert "1 of 721 documents" in run("inspect", model).stdout
    again = run("add", model, tmp_path / "new.jsonl")
    assert again.exit_code == 2
    assert "'n1' is there already" in again.stderr
    assert run("add", model, tmp_path / "new.jsonl", "--replace").exit_code == 0
    assert json.loads(run("forget", model, "n1", "--json").stdout) == {"forgotten": 1, "points": 720}
    assert "sheds" not in labels_of(run("tag", model, "the wheel of a bicycle in the garden", "--json"))
    done = run("forget", model, "n1")
    assert done.exit_code == 2
    assert "no document 'n1'" in done.stderr


def test_bad_lines_stop_it_or_are_passed_over(model, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "a", "labels": ["x"]}\nnot JSON\n{"text": 3, "labels": []}\n')
    done = run("add", model, tmp_path / "new.jsonl")
    assert done.exit_code == 2
    assert "new.jsonl:2" in done.stderr
    done = run("add", model, tmp_path / "new.jsonl", "--skip-bad", "--json")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert (report["added"], report["skipped"]) == (1, 2)
    assert "2 bad lines were skipped" in done.stderr


@pytest.mark.parametrize("command", ["add", "train", "predict", "evaluate"])
def test_bad_lines_that_were_skipped_are_told_in_any_case(command, model, tmp_path):
    lines = [json.dumps({"text": f"a wheel {n}", "labels": ["x"]}) for n in range(3)]
    (tmp_path / "some.jsonl").write_text("\n".join([lines[0], "not JSON", *lines[1:]]))
    train = [tmp_path / "some.jsonl", tmp_path / "new", *OF_WORDS, "--no-refine", "--n-learners", "1"]
    done = run(command, *(train if command == "train" else [model, tmp_path / "some.jsonl"]), "--skip-bad", "-q")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^warning: 1 bad line was skipped, the first: .*some\.jsonl:2", done.stderr, re.MULTILINE)
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines()), "no progress and no messages"
    assert "only results, warnings and errors" in " ".join(run(command, "--help").stdout.split())


def test_what_was_replaced_is_not_counted_as_added(model, tmp_path):
    lines = [{"id": f"n{n}", "text": "a wheel", "labels": ["sheds"]} for n in range(3)]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:2]))
    assert json.loads(run("add", model, tmp_path / "new.jsonl", "--json").stdout) == {
        "added": 2,
        "points": 722,
        "new_labels": ["sheds"],
        "ids": ["n0", "n1"],
    }
    (tmp_path / "new.jsonl").write_text("".join(json.dumps({**line, "labels": ["barns"]}) + "\n" for line in lines))
    report = json.loads(run("add", model, tmp_path / "new.jsonl", "--replace", "--json").stdout)
    assert (report["added"], report["replaced"], report["points"]) == (1, 2, 723)
    assert report["new_labels"] == ["barns"]
    assert re.search(r"^added +0\nreplaced +3$", run("add", model, tmp_path / "new.jsonl", "--replace").stdout, re.M)


def test_what_was_added_before_an_error_is_told(model, tmp_path):
    lines = [json.dumps({"text": "a chess program", "labels": ["new"]}) for _ in range(5)]
    (tmp_path / "more.jsonl").write_text("\n".join([*lines, "{"]))
    live, documents = LiveTagger(model), Reading().documents(tmp_path / "more.jsonl")
    with pytest.raises(DataError, match=r"more\.jsonl:6: .*; the first 4 documents are added"):
        add_in_batches(live, documents, replace=False, progress=progress.choose("silent"), batch_documents=2)
    assert json.loads(run("inspect", model, "--json").stdout)["points"] == 724
    done = run("add", model, tmp_path / "more.jsonl")
    assert done.exit_code == 2
    assert "more.jsonl:6" in done.stderr
    assert "are added" not in done.stderr


def test_an_explanation_without_voters_says_so(folder):
    assert "most frequent labels" in run("explain", folder / "model", "zzzz", "--fallback").stdout


def test_ids_of_standard_input_end_at_line_feeds_only(model, tmp_path):
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "a\u2028b", "text": "chess", "labels": ["new"]}))
    run("add", model, tmp_path / "more.jsonl")
    done = run("forget", model, "-", "--json", stdin="a\u2028b\r\n")
    assert json.loads(done.stdout)["forgotten"] == 1


def test_documents_of_unknown_words_are_counted_and_ids_told(model, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "zzz qqq", "labels": ["x"]}\n{"text": "bread", "labels": ["x"]}\n')
    report = json.loads(run("add", model, tmp_path / "new.jsonl", "--json").stdout)
    assert report["without_a_known_word"] == 1
    assert len(report["ids"]) == report["added"] == 2
    assert json.loads(run("forget", model, *report["ids"], "--json").stdout)["forgotten"] == 2


def test_vectors_of_ones_own(folder, tmp_path):
    rows = np.random.default_rng(0).normal(size=(len(SENTENCES) * 3, 8))
    vectors = np.vstack([rows[number % len(rows)] for number in range(720)]) + 0.01
    np.save(tmp_path / "vectors.npy", vectors)
    options = ["--vectors", tmp_path / "vectors.npy", "--embedding-dim", "8", "--n-jobs", "1"]
    done = run("train", folder / "docs.jsonl", tmp_path / "model", *options)
    assert done.exit_code == 0, done.stderr
    done = run("evaluate", tmp_path / "model", folder / "docs.jsonl", "--vectors", tmp_path / "vectors.npy", "--json")
    assert json.loads(done.stdout)["metrics"]["P@1"] > 90
    np.save(tmp_path / "few.npy", vectors[:5])
    for file, words in (("few.npy", "5 rows for 720"), ("none.npy", "cannot be read")):
        done = run("train", folder / "docs.jsonl", tmp_path / "other", "--vectors", tmp_path / file)
        assert done.exit_code == 2
        assert words in done.stderr


def test_a_table_with_other_names(tmp_path):
    with (tmp_path / "docs.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["key", "body", "tags"])
        for each in documents():
            table.writerow([each["id"], each["text"], "|".join(each["labels"])])
    options = ["--text-field", "body", "--label-field", "tags", "--id-field", "key", "--separator", "|"]
    fast = ["--embedding-dim", "10", "--n-jobs", "1"]
    done = run("train", tmp_path / "docs.csv", tmp_path / "model", *options, *fast, "--word-pairs", "--min-df", "2")
    assert done.exit_code == 0, done.stderr
    assert "kitchen" in labels_of(run("tag", tmp_path / "model", "bread with yeast", "--json"))
    assert "cycling-0-1" in run("explain", tmp_path / "model", "repair a bicycle wheel 1", "--voters", "5").stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min-df", "many"], "--min-df must be"),
        (["--char-ngrams", "a-b"], "--char-ngrams must be"),
        (["--calibration", "magic"], "--calibration must be"),
        (["--stop-words", "nowhere.txt"], "--stop-words nowhere.txt"),
        (["--text-field", "body"], "'body'"),
        (["--format", "docx"], "--format must be"),
        (["--features", "letters"], "features='letters': must be auto, words, "),
        (["--features", "auto", "--min-df", "2"], "--features auto chooses --min-df by itself"),
        (["--features", "words", "--encoder", "vectors"], "--features is for texts"),
        (["--language", "klingon"], "language='klingon': must be one of ar (arabic), "),
    ],
)
def test_what_cannot_be_is_said_in_a_line(folder, tmp_path, options, words):
    done = run("train", folder / "docs.jsonl", tmp_path / "model", *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "model").exists()


def test_hashed_words_and_no_texts_kept(folder, tmp_path):
    options = ["--hashing", "512", "--no-keep-texts", "--calibration", "none", "--embedding-dim", "10", "--n-jobs", "1"]
    assert run("train", folder / "docs.jsonl", tmp_path / "model", *options).exit_code == 0
    assert "cycling" in labels_of(run("tag", tmp_path / "model", "bicycle wheel", "--json"))
    everything = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert b"racing bicycle" not in everything
    assert json.loads(run("inspect", tmp_path / "model", "--json").stdout)["calibration"] is None


def test_the_choice_of_features_is_told(folder, tmp_path):
    fast = ["--embedding-dim", "10", "--n-jobs", "1", "--overwrite"]
    done = run("train", folder / "docs.jsonl", tmp_path / "model", *fast, "--json")
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("features: ")]
    assert "held-out documents" in said
    choice = json.loads(done.stdout)["feature_choice"]
    assert said == f"features: {choice['message']}"
    assert choice["gain"] == pytest.approx(choice["scores"][choice["kind"]] - choice["scores"]["words"])
    report = json.loads(run("inspect", tmp_path / "model", "--json").stdout)
    assert report["feature_choice"] == choice
    assert choice["message"].split(";")[0] in run("inspect", tmp_path / "model").stdout
    done = run("train", folder / "docs.jsonl", tmp_path / "model", *fast, "--quiet")
    assert done.stderr == done.stdout == ""


@pytest.mark.parametrize(
    "options",
    [
        ["--word-pairs"],
        ["--char-ngrams", "3-4"],
        ["--min-df", "1"],
        ["--max-df", "0.9"],
        ["--hashing", "512"],
        ["--features", "words"],
        ["--encoder", "tfidf"],
    ],
)
def test_what_is_set_is_not_chosen(folder, tmp_path, options):
    fast = ["--embedding-dim", "10", "--n-jobs", "1"]
    done = run("train", folder / "docs.jsonl", tmp_path / "model", *fast, *options, "--json")
    assert done.exit_code == 0, done.stderr
    assert "feature_choice" not in json.loads(done.stdout)
    assert "features: " not in done.stderr
    assert json.loads(run("inspect", tmp_path / "model", "--json").stdout)["feature_choice"] is None


def test_a_language_without_its_packages(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    done = run("train", folder / "docs.jsonl", tmp_path / "model", "--language", "fi")
    assert done.exit_code != 0
    assert 'pip install "neartag[languages]"' in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_language_of_the_texts(folder, tmp_path):
    pytest.importorskip("snowballstemmer")
    pytest.importorskip("stopwordsiso")
    fast = ["--embedding-dim", "10", "--n-jobs", "1", "--features", "words"]
    done = run("train", folder / "docs.jsonl", tmp_path / "model", *fast, "--language", "English")
    assert done.exit_code == 0, done.stderr
    reasons = json.loads(run("explain", tmp_path / "model", "the gear of bicycles", "--json").stdout)["labels"]
    words = {word["word"] for reason in reasons for voter in reason["voters"] for word in voter["words"]}
    assert {"bicycles", "gear"} == words
    assert "English" in run("inspect", tmp_path / "model").stdout
    assert json.loads(run("inspect", tmp_path / "model", "--json").stdout)["language"] == "en"


def test_inspect_tells_of_drift_and_scores(folder):
    said = run("inspect", folder / "model").stdout
    for words in ("added since", "train again", "not needed", "wished precision", "held-out documents"):
        assert words in said
    report = json.loads(run("inspect", folder / "model", "--json").stdout)
    assert report["drift"]["added"] == 0
    assert 0 <= report["calibration"]["error"] <= 1


def test_feature_rows_are_no_documents(model, tmp_path):
    (tmp_path / "rows.txt").write_text("1 4 2\n0 1:1\n")
    done = run("add", model, tmp_path / "rows.txt")
    assert done.exit_code == 2
    assert "rows of features" in done.stderr


# Where rankers decide


def test_an_explanation_names_the_words_that_the_ranker_weighed(refined):
    done = run("explain", refined, "the gears of my bicycle", "-k", "12")
    assert done.exit_code == 0, done.stderr
    first = done.stdout.split("\n\n")[0]
    assert re.search(r"^  the ranker weighed: (\w+ [+−]\d\.\d\d(, |$))+", first, re.MULTILINE)
    assert re.search(r"bicycle \+0\.\d\d", first)
    assert "−" in done.stdout, "words that speak against a label are told too"
    assert "taken together, use words of the text" in done.stdout, "nobody near has some of the labels"
    reasons = json.loads(run("explain", refined, "the gears of my bicycle", "-k", "12", "--json").stdout)["labels"]
    assert {"votes", "mean"} == {reason["found"] for reason in reasons}
    for reason in reasons:
        assert (reason["found"] == "votes") == bool(reason["voters"]) == (reason["share"] > 0)
    weighed = {word["word"]: word["weight"] for word in reasons[0]["words"]}
    assert weighed["bicycle"] > 0
    assert "most frequent labels" in run("explain", refined, "zzzz", "--fallback").stdout


def test_inspect_tells_of_rankers(folder, refined):
    said = run("inspect", refined, "--all").stdout
    assert re.search(r"^rankers +\d+, for 15 labels$", said, re.MULTILINE)
    assert re.search(r"^refine +True +", said, re.MULTILINE)
    report = json.loads(run("inspect", refined, "--json").stdout)
    assert report["parameters"]["refine"] is True
    assert report["refinement"]["rankers"] == 15
    assert report["refinement"]["later_rankers"] == 0
    assert 0 < report["refinement"]["weights"] <= 15 * report["features"]
    assert report["calibration"] is not None
    votes = ("--no-refine", *OF_WORDS, "--embedding-dim", "5", "--n-jobs", "1")
    assert run("train", folder / "docs.jsonl", folder / "votes", *votes).exit_code == 0
    plain = json.loads(run("inspect", folder / "votes", "--json").stdout)
    assert plain["parameters"]["refine"] is False
    assert plain["refinement"] is None


@pytest.mark.filterwarnings("default:.* points are too few to refine")
def test_too_few_documents_to_refine(tmp_path):
    few = [{**each, "id": str(number)} for number, each in enumerate(documents())][:60]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in few))
    fast = ["--embedding-dim", "5", "--n-jobs", "1"]
    done = run("train", tmp_path / "docs.jsonl", tmp_path / "model", *fast)
    assert done.exit_code == 0, done.stderr
    said = "warning: 60 points are too few to refine, for which 200 are needed: votes alone decide"
    assert done.stderr.splitlines().count(said) == 1
    assert "none: there were too few documents" in run("inspect", tmp_path / "model").stdout
    assert "of the votes" in run("explain", tmp_path / "model", "the gears of my bicycle").stdout


def test_refine_is_an_option_of_x1_alone(folder, tmp_path):
    fast = [*OF_WORDS, "--embedding-dim", "10", "--n-jobs", "1"]
    for option, wanted in (("--refine", True), ("--no-refine", False), ("--quiet", True)):
        done = run("train", folder / "docs.jsonl", tmp_path / "model", option, *fast, "--overwrite")
        assert done.exit_code == 0, done.stderr
        parameters = json.loads(run("inspect", tmp_path / "model", "--json").stdout)["parameters"]
        assert parameters["refine"] is wanted
    done = run("train", folder / "docs.jsonl", tmp_path / "other", "--method", "knn", "--refine")
    assert done.exit_code == 2
    assert "--refine is no option of knn" in done.stderr


def test_rows_of_features_are_refined(tmp_path):
    rows = [
        f"{label} {label}:1 {3 + number % 5}:0.5 {8 + number % 7}:{number % 3}.5"
        for number in range(80)
        for label in range(3)
    ]
    (tmp_path / "rows.txt").write_text("\n".join([f"{len(rows)} 150 3", *rows]) + "\n")
    fast = ["--embedding-dim", "5", "--n-jobs", "1"]
    done = run("train", tmp_path / "rows.txt", tmp_path / "model", "--refine", *fast)
    assert done.exit_code == 0, done.stderr
    report = json.loads(run("inspect", tmp_path / "model", "--json").stdout)
    assert report["parameters"]["refine"] is True
    assert report["refinement"]["rankers"] == 3
    done = run("evaluate", tmp_path / "model", tmp_path / "rows.txt", "--json")
    assert json.loads(done.stdout)["metrics"]["P@1"] > 90


def test_a_new_label_of_a_refined_model(refined, tmp_path):
    shutil.copytree(refined, tmp_path / "model")
    text = "the wheel of a bicycle in the garden"
    lines = [json.dumps({"id": f"n{number}", "text": text, "labels": ["sheds"]}) for number in range(8)]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    assert run("add", tmp_path / "model", tmp_path / "new.jsonl").exit_code == 0
    done = run("explain", tmp_path / "model", text, "-k", "20", "--json")
    (reason,) = [each for each in json.loads(done.stdout)["labels"] if each["label"] == "sheds"]
    assert reason["words"], "it has a ranker of its own"
    assert "1 of them trained since for new labels" in run("inspect", tmp_path / "model").stdout
    assert run("forget", tmp_path / "model", *(f"n{number}" for number in range(8))).exit_code == 0
    assert "sheds" not in labels_of(run("tag", tmp_path / "model", text, "-k", "20", "--json"))
    assert "trained since" not in run("inspect", tmp_path / "model").stdout
