"""Features of texts among what a search tries: learned from training texts alone, and used by what it writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_helpers import fail, succeed
from neartag import presets, store, tune
from neartag.cli import sources
from neartag.core.errors import ParameterError
from neartag.data import debian
from neartag.encoders import languages
from neartag.encoders.feature_kinds import KINDS
from neartag.encoders.tfidf import TfidfFeatures
from neartag.methods import halving
from neartag.metrics import evaluate
from neartag.tagging import tune_texts
from neartag.tagging.tune_kinds import TRIED
from neartag.tagging.tune_texts import TextPoints, read_texts
from neartag.x1.classifier import X1Classifier

FIXED = {"refine": False, "n_clusters": 1, "embedding_dim": 10, "l2": 1.0, "svp_neighbours": 20}
FIXED |= {"vote_neighbours": 20, "feature_share": 0.3, "vote_sharpness": 20.0}


@pytest.fixture(scope="module")
def corpus():
    packages = debian.load("train")
    return [" ".join(words) for words in packages.words[:800]], packages.tags[:800]


@pytest.fixture(scope="module")
def file(corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    lines = [json.dumps({"text": text, "labels": list(labels)}) for text, labels in zip(*corpus, strict=True)]
    path.write_text("\n".join(lines))
    return path


class TestPoints:
    def test_features_are_learned_from_training_texts_only(self):
        texts = [f"common word{number}" for number in range(10)]
        points = TextPoints(texts, np.eye(10))
        train, held = np.arange(6), np.arange(6, 10)
        X, Y, X_held, Y_held = points.split(train, held, "words")
        assert X.shape == (6, 7)
        assert X_held.shape == (4, 7)
        assert (X_held.getnnz(axis=1) == 1).all(), "words of held-out texts are unknown"
        assert (np.eye(10)[:6] == Y).all()
        assert (Y_held == np.eye(10)[6:]).all()
        assert points.split(train[:3], held, "words").X.shape == (3, 4)

    def test_kinds(self):
        texts = ["the red apple", "the red stone", "the blue apple"] * 4
        train, held = np.arange(9), np.arange(9, 12)
        points = TextPoints(texts, np.eye(12), parameters={"stop_words": ["the"]})
        for name, entry in TRIED.items():
            if name == "auto":
                continue
            own = {key: value for key, value in entry.items() if key != "kind"}
            features = TfidfFeatures(**{**KINDS[entry["kind"]], **own, "stop_words": ["the"]})
            split = points.split(train, held, name)
            assert (features.fit_transform(texts[:9]) != split.X).nnz == 0
            assert (split.X_held != features.transform(texts[9:])).nnz == 0
        assert points.describe_features("words-2") == {"kind": "words", "min_df": 2, "stop_words": ["the"]}

    def test_rows_are_kept_as_far_as_there_is_room(self, monkeypatch):
        made = []
        make = tune_texts._make_encoder
        monkeypatch.setattr(tune_texts, "_make_encoder", lambda *given: made.append(given[0]) or make(*given))
        train, held = np.arange(9), np.arange(9, 12)
        for room, expected in ((10**6, ["words", "pairs"]), (0, ["words", "pairs", "words", "pairs"])):
            made.clear()
            points = TextPoints(["a red apple"] * 12, np.eye(12), max_kept_entries=room)
            for kind in ("words", "words", "pairs", "words", "pairs"):
                points.split(train, held, kind)
            assert made == expected

    def test_the_digest_tells_texts_apart(self):
        one = TextPoints(["ab", "c"], np.eye(2)).digest()
        assert one == TextPoints(["ab", "c"], np.eye(2)).digest()
        others = [
            TextPoints(["a", "bc"], np.eye(2)),
            TextPoints(["ab", "c"], np.ones((2, 2))),
            TextPoints(["ab", "c"], np.eye(2), parameters={"language": "fi"}),
            TextPoints(["ab", "c"], np.eye(2)).fix_features("words"),
        ]
        assert len({one, *(each.digest() for each in others)}) == 5

    def test_unknown_kinds(self):
        with pytest.raises(ParameterError, match="features='letters': must be one of auto"):
            TextPoints(["a"], np.eye(1), ["letters"])


class TestSearch:
    def test_the_figures_are_those_of_the_chosen_features(self, corpus):
        texts, labels = corpus
        found = tune.tune_texts(texts, labels, fixed=FIXED, features=["words", "characters"], n_jobs=1)
        assert found.trials[0].settings["features"] == "auto"
        assert {trial.settings["features"] for trial in found.trials} <= {"auto", "words", "characters"}
        order = np.random.default_rng(0).permutation(800)
        rows, held = np.sort(order[160:]), np.sort(order[:160])
        _, Y = read_texts(tune_texts.make_documents(TfidfFeatures(), texts, labels, None))
        for kind in ("words", "characters"):
            trial = next((t for t in found.trials if t.settings["features"] == kind), found.trials[0])
            features = TfidfFeatures(**KINDS[kind])
            X = features.fit_transform([texts[row] for row in rows])
            classifier = X1Classifier(**FIXED, n_jobs=1).fit(X, Y[rows])
            answered = classifier.predict_topk(features.transform([texts[row] for row in held]), 5)[0]
            assert list(trial.metrics.values()) == pytest.approx(
                [evaluate(answered, Y[held])[f"P@{k}"] for k in (1, 3, 5)]
            )
        assert found.features == found.best.settings["features"]
        assert "features" not in found.settings

    def test_a_single_kind_is_not_chosen(self, corpus):
        texts, labels = corpus
        fixed = {name: value for name, value in FIXED.items() if name != "l2"}
        found = tune.tune_texts(texts, labels, features="pairs", fixed=fixed, tried={"l2": [3.0]}, n_jobs=1)
        assert found.features == "pairs"
        assert [trial.settings for trial in found.trials] == [{"l2": "auto"}, {"l2": 3.0}]
        with pytest.raises(ParameterError, match="every setting is fixed"):
            tune.tune_texts(texts, labels, features="pairs", fixed=FIXED)

    def test_a_kind_that_leaves_no_term_is_told_and_passed_over(self):
        texts, labels = [f"only{number}" for number in range(150)], [["a"]] * 150
        found = tune.tune_texts(texts, labels, "knn", features=["words-2"], fixed={"row_scale": "unit"}, n_jobs=1)
        assert any(trial.error and trial.settings["features"] == "words-2" for trial in found.trials)
        assert found.features != "words-2"


class TestResume:
    """Whether there is time to settle the features for all rounds depends on the clock: it is decided once."""

    @staticmethod
    def run(corpus, path):
        texts, labels = corpus
        options = {"minutes": 60, "resume": path, "tried": {"neighbours": [3]}, "n_jobs": 1}
        return tune.tune_texts(texts[:200], labels[:200], "knn", features=["words", "words-2"], **options)

    @pytest.mark.parametrize("shares", [(1.0, -1.0), (-1.0, 1.0)])
    def test_what_was_decided_about_features_holds(self, corpus, tmp_path, monkeypatch, shares):
        path = tmp_path / "state"
        monkeypatch.setattr(halving, "FEATURES_SHARE", shares[0])
        whole = self.run(corpus, path)
        before = path.read_bytes()
        assert json.loads(before.splitlines()[1]) == {"features": "words" if shares[0] > 0 else None}
        monkeypatch.setattr(halving, "FEATURES_SHARE", shares[1])
        again = self.run(corpus, path)
        assert again.resumed == len(whole.trials) == len(again.trials)
        assert (again.features, again.settings) == (whole.features, whole.settings)
        assert path.read_bytes() == before

    def test_what_is_no_kind_of_features_is_refused(self, corpus, tmp_path):
        path = tmp_path / "state"
        self.run(corpus, path)
        lines = path.read_bytes().splitlines(keepends=True)
        for wrong, said in ((b"7", "is no progress of a search"), (b'"letters"', "features='letters': must be one of")):
            path.write_bytes(lines[0] + b'{"features": ' + wrong + b"}\n")
            with pytest.raises(ParameterError, match=said):
                self.run(corpus, path)


class TestCommand:
    FIX = tuple(word for name, value in FIXED.items() for word in ("--fix", f"{name}={value}"))

    def test_what_is_written_trains_with_the_chosen_features(self, file, tmp_path):
        out = tmp_path / "mine.json"
        command = ("tune", file, *self.FIX, "--try", "features=characters-3-5,words-2", "--out", out, "--json")
        report = json.loads(succeed(*command))
        written = json.loads(out.read_text())
        assert written["features"] == report["features"]
        kind = report["features"]
        if kind != {"kind": "auto"}:
            assert kind in (TRIED["characters-3-5"], TRIED["words-2"])
        presets.write(out, "x1", written["settings"], features={"kind": "characters", "char_ngrams": [3, 5]})
        succeed("train", file, tmp_path / "model", "--preset", out, "--n-jobs", 1)
        features = store.load(tmp_path / "model").features
        assert (tuple(features.char_ngrams), features.min_df, features.word_pairs) == ((3, 5), 2, False)

    @pytest.mark.parametrize(
        ("features", "options", "expected"),
        [
            ("words", (), (None, 1, False)),
            ("all", (), ((4, 4), 2, True)),
            ({"kind": "words", "min_df": 2}, (), (None, 2, False)),
            ({"min_df": 3}, (), (None, 3, False)),
            ("all", ("--min-df", 3), ((4, 4), 3, True)),
            ("all", ("--features", "words"), (None, 1, False)),
            ("auto", ("--min-df", 3), (None, 3, False)),
            (None, ("--min-df", 2), (None, 2, False)),
        ],
    )
    def test_presets_with_features(self, file, tmp_path, features, options, expected):
        presets.write(tmp_path / "mine.json", "knn", {"neighbours": 5}, features=features)
        succeed("train", file, tmp_path / "m", "--method", "knn", "--preset", tmp_path / "mine.json", *options)
        made = store.load(tmp_path / "m").features
        assert (made.char_ngrams and tuple(made.char_ngrams), made.min_df, made.word_pairs) == expected

    @pytest.mark.parametrize(
        ("features", "said"),
        [
            ("letters", "features='letters': must be"),
            ({"kind": "letters"}, "features='letters': must be"),
            ({"min_df": "many"}, "min_df='many'"),
            ({"nonsense": 1}, "nonsense"),
            ([1], "must be a kind, or an object"),
        ],
    )
    def test_features_that_cannot_be_used(self, file, tmp_path, features, said):
        presets.write(tmp_path / "mine.json", "knn", {}, features=features)
        line = fail("train", file, tmp_path / "m", "--method", "knn", "--preset", tmp_path / "mine.json")
        assert said in line
        assert "mine.json" in line

    def test_options_to_train_without_a_file(self, file):
        shown = succeed("tune", file, "--method", "knn", "--fix", "features=characters-3-5", "-q")
        assert "--features characters --char-ngrams 3-5" in shown

    def test_rows_take_the_settings_of_a_preset_for_texts(self, tmp_path):
        rows = "".join(f"{number % 2} {number % 2}:1\n" for number in range(20))
        (tmp_path / "train.txt").write_text(f"20 2 2\n{rows}")
        presets.write(tmp_path / "mine.json", "knn", {"neighbours": 5}, features="words")
        command = (
            "train",
            tmp_path / "train.txt",
            tmp_path / "m",
            "--method",
            "knn",
            "--preset",
            tmp_path / "mine.json",
        )
        succeed(*command)
        stored = store.load(tmp_path / "m")
        assert (stored.features, stored.model.parameters["neighbours"]) == (None, 5)

    def test_a_language_is_checked_before_anything_is_read(self, file, monkeypatch):
        monkeypatch.setattr(sources, "read_data", lambda *_: 1 / 0)
        assert "language='klingon': must be one of" in fail("tune", file, "--language", "klingon")
        monkeypatch.setattr(languages, "find_spec", lambda _: None)
        assert "neartag[languages]" in fail("tune", file, "--language", "fi")

    def test_rows_have_no_features_to_choose(self, tmp_path):
        (tmp_path / "train.txt").write_text("2 2 1\n0 0:1\n0 1:1\n")
        line = fail("tune", tmp_path / "train.txt", "--fix", "features=words")
        assert "holds rows of features, not texts" in line
        assert "holds rows of features, not texts" in fail("tune", tmp_path / "train.txt", "--language", "fi")
