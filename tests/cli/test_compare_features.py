"""The features of texts that `neartag compare` gives to all methods: those that `neartag train` would take."""

import json

import pytest

from cli_helpers import fail, succeed
from neartag.encoders.feature_kinds import FeatureChoice
from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging import feature_choice
from neartag.x1.classifier import X1Classifier

TEXTS = [("bake bread with yeast", ["bread"]), ("knead the dough", ["bread"]), ("grill a steak", ["meat"])] * 4
TEST = [("knead bread", ["bread"]), ("a steak", ["meat"])]
KNN = ["--methods", "knn", "--set", "knn.neighbours=3", "--n-jobs", 1, "--json", "-q"]


def n_features(**parameters):
    return TfidfFeatures(**parameters).fit([text for text, _ in TEXTS]).n_features


def compare(folder, *arguments):
    return json.loads(succeed("compare", folder, *KNN, *arguments))


@pytest.fixture
def folder(tmp_path):
    for name, documents in (("train", TEXTS), ("test", TEST)):
        lines = [json.dumps({"text": text, "labels": labels}) for text, labels in documents]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_a_kind_that_is_named_is_that_of_train(folder):
    report = compare(folder, "--features", "pairs")
    assert report["train"]["features"] == n_features(word_pairs=True, min_df=2) > n_features()
    assert "feature_choice" not in report
    succeed("train", folder, folder / "m", "--method", "knn", "--neighbours", 3, "--features", "pairs", "-q")
    evaluated = json.loads(succeed("evaluate", folder / "m", folder, "--json"))
    assert report["methods"][0]["metrics"] == evaluated["metrics"]


def test_a_trial_on_the_train_part_chooses_unless_one_is_named(folder, monkeypatch):
    tried = []

    def choose(texts, Y, parameters, *, n_jobs, max_memory):
        tried.append((list(texts), Y.shape[0], n_jobs))
        return FeatureChoice("characters", {"words": 50.0, "characters": 60.0}, 9, 3, 0.5)

    monkeypatch.setattr(feature_choice, "choose_features", choose)
    report = compare(folder)
    assert tried == [([text for text, _ in TEXTS], len(TEXTS), 1)]
    assert report["train"]["features"] == n_features(char_ngrams=(4, 4), min_df=2)
    assert (report["feature_choice"]["kind"], report["feature_choice"]["gain"]) == ("characters", 10.0)
    shown = succeed("compare", folder, *KNN[:-2])
    assert "words and runs of characters: +10.0 points over words alone" in " ".join(shown.split())


def test_few_texts_are_words(folder):
    report = compare(folder)
    assert report["train"]["features"] == n_features()
    assert report["feature_choice"]["kind"] == "words"


def test_the_features_of_a_preset_are_for_all_methods(folder):
    preset = {"method": "knn", "settings": {}, "features": {"kind": "words", "min_df": 2}}
    (folder / "knn.json").write_text(json.dumps(preset))
    with (folder / "train.jsonl").open("a") as stream:
        stream.write('\n{"text": "seldom", "labels": ["meat"]}')
    with_preset = ["--preset", folder / "knn.json", "--methods", "knn,cs"]
    report = compare(folder, *with_preset)
    assert report["train"]["features"] == n_features()
    assert [row["preset"] is None for row in report["methods"]] == [False, True]
    assert compare(folder, *with_preset, "--features", "words")["train"]["features"] == n_features() + 1


def test_mistakes_are_found_before_anything_is_trained(folder, monkeypatch):
    monkeypatch.setattr(X1Classifier, "fit", lambda *_: 1 / 0)
    assert "features='nonsense': must be auto, words" in fail("compare", folder, "--features", "nonsense", "-q")
    for name in ("train", "test"):
        (folder / f"{name}.txt").write_text("1 2 1\n0 1:1\n")
    told = fail("compare", folder, "--features", "words", "-q")
    assert "--features words" in told
    assert "holds rows of features, which need no encoder" in told
