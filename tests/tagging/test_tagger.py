"""TextTagger: texts in, names out, reasons, documents and labels added and forgotten."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from neartag.comparators.knn.classifier import KNNClassifier
from neartag.core.errors import DataError, ModelError, NeartagError, ParameterError
from neartag.data import debian
from neartag.data.documents import Document
from neartag.tagging.explain import reasons
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier


@pytest.fixture(scope="module")
def corpus():
    packages = debian.load("train")
    return [" ".join(words) for words in packages.words[:1200]], packages.tags[:1200], packages.names[:1200]


def small(**changes) -> TextTagger:
    return TextTagger(changes.pop("features", "words"), X1Classifier(embedding_dim=20, n_jobs=1), **changes)


@pytest.fixture(scope="module")
def fitted(corpus):
    return small().fit(*corpus)


@pytest.fixture(scope="module")
def refined(fitted):
    assert fitted.stored.model.reranker is not None, "as it is by default"
    return fitted


@pytest.fixture(scope="module")
def by_votes(corpus):
    return TextTagger("words", X1Classifier(embedding_dim=20, n_jobs=1, refine=False)).fit(*corpus)


def test_texts_in_names_out(fitted, by_votes, corpus):
    texts, tags, _ = corpus
    for tagger, ranked_by in ((fitted, "score"), (by_votes, "share")):
        found = tagger.predict(texts[:50], k=3)
        assert all(len(each) == 3 for each in found)
        assert np.mean([each[0].label in names for each, names in zip(found, tags, strict=False)]) > 0.8
        for each in found:
            order = [getattr(tag, ranked_by) for tag in each]
            assert order == sorted(order, reverse=True)
            assert all(0 <= tag.score <= 1 for tag in each)


def test_a_threshold_gives_fewer_and_surer_labels(fitted, corpus):
    texts = corpus[0][:100]
    everything, some, sure = (fitted.predict(texts, k=10, threshold=wish) for wish in (None, "f1", 0.9))
    count = [sum(map(len, each)) for each in (everything, some, sure)]
    assert count[0] > count[1] > count[2] > 0
    assert all(tag.score >= 0.9 for each in sure for tag in each)
    with pytest.raises(ParameterError, match="threshold"):
        fitted.predict(texts, threshold="best")


def test_without_calibration_the_score_is_the_share(corpus):
    votes = X1Classifier(embedding_dim=20, n_jobs=1, refine=False)
    plain = TextTagger("words", votes, calibration=None).fit(*corpus)
    assert plain.calibration is None
    assert all(tag.score == tag.share for tag in plain.predict(corpus[0][:1])[0])
    with pytest.raises(ParameterError, match="calibrated"):
        plain.predict(corpus[0][:1], threshold="f1")


def test_reasons_add_up(fitted, corpus):
    text = corpus[0][5]
    for reason in fitted.explain(text, k=4, voters=1000):
        assert reason.share == pytest.approx(sum(voter.share for voter in reason.voters), abs=1e-4)
        for voter in reason.voters:
            assert reason.label in voter.labels
            assert voter.text == corpus[0][corpus[2].index(voter.id)]


def test_the_words_of_a_reason_are_in_both_texts(fitted, corpus):
    text = corpus[0][7]
    voters = {voter.id: voter for reason in fitted.explain(text) for voter in reason.voters}
    assert any(voter.words for voter in voters.values())
    for voter in voters.values():
        for word, weight in voter.words:
            assert word in text.lower().split()
            assert word in voter.text.lower().split()
            assert weight > 0
        weights = [weight for _, weight in voter.words]
        assert weights == sorted(weights, reverse=True)


def test_saved_and_loaded_it_is_the_same(fitted, corpus, tmp_path):
    fitted.save(tmp_path / "model")
    again = TextTagger.load(tmp_path / "model")
    assert again.predict(corpus[0][:30]) == fitted.predict(corpus[0][:30])
    assert again.explain(corpus[0][3]) == fitted.explain(corpus[0][3])
    assert again.labels == fitted.labels


def test_a_new_label_is_given_right_after(fitted, corpus, tmp_path):
    tagger = fitted.copy()
    text = corpus[0][11]
    assert tagger.add([text] * 3, [["brand::new"]] * 3, ["n1", "n2", "n3"]) == ["n1", "n2", "n3"]
    assert "brand::new" in [tag.label for tag in tagger.predict([text])[0]]
    assert "brand::new" not in [tag.label for tag in fitted.predict([text])[0]], "the other tagger is not touched"
    assert len(tagger) == 1203
    assert "n2" in tagger
    tagger.save(tmp_path / "model")
    assert TextTagger.load(tmp_path / "model").predict([text]) == tagger.predict([text])
    # Forgotten, it is as if it had never been, but for the label's name.
    assert tagger.forget(["n1", "n2", "n3"]) == 3
    assert tagger.predict(corpus[0][:40]) == fitted.predict(corpus[0][:40])
    assert len(tagger) == 1200


def test_ids_are_made_where_none_are_given(fitted, corpus):
    tagger = fitted.copy()
    ids = tagger.add(corpus[0][:2], corpus[1][:2])
    assert len(set(ids)) == 2
    assert all(name in tagger for name in ids)


def test_an_id_that_is_taken(fitted, corpus):
    tagger = fitted.copy()
    with pytest.raises(DataError, match=rf"{corpus[2][0]}.*already"):
        tagger.add(["some text"], [["a"]], [corpus[2][0]])
    with pytest.raises(DataError, match=r"'x'.*twice"):
        tagger.add(["some text"] * 2, [["a"]] * 2, ["x", "x"])
    with pytest.raises(DataError, match="no document 'nobody'"):
        tagger.forget(["nobody"])
    assert len(tagger) == 1200, "nothing was changed"


def test_what_was_forgotten_is_in_no_file(corpus, tmp_path):
    tagger = small().fit([*corpus[0], "zanzibarian secretive octopus"], [*corpus[1], ["a::b"]], [*corpus[2], "the-id"])
    tagger.forget("the-id")
    tagger.save(tmp_path / "model")
    everything = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert b"secretive octopus" not in everything
    assert b"the-id" not in everything
    # The vocabulary was learned, as the regressors were: it stays until a retrain.
    assert tagger.stored.model.forgotten == 1


def test_printed_it_says_what_it_is(fitted, by_votes):
    assert repr(TextTagger()) == "TextTagger('auto', not fitted)"
    assert repr(fitted) == f"TextTagger(1200 documents, {len(fitted.labels)} labels; x1, refined, calibrated)"
    assert repr(by_votes).endswith("labels; x1, calibrated)")
    assert repr(TextTagger.of(fitted.stored)) == repr(fitted)


def test_not_fitted(tmp_path):
    with pytest.raises(NeartagError, match="call fit"):
        TextTagger().predict(["x"])


@pytest.mark.parametrize(
    ("texts", "labels", "words"),
    [
        ("one text", [["a"]], "list of texts"),
        (["a b", "c d"], [["x"]], "as many"),
        (["a b"], ["x"], "list of names"),
        ([3], [["x"]], "must be a string"),
    ],
)
def test_what_cannot_be_learned_from(texts, labels, words):
    with pytest.raises(ParameterError, match=words):
        TextTagger().fit(texts, labels)


def test_no_documents_and_the_same_id_twice():
    with pytest.raises(DataError):
        TextTagger().fit([], [])
    with pytest.raises(DataError, match=r"documents 1 and 3.*'a'"):
        TextTagger().fit(["x y"] * 3, [["l"]] * 3, ["a", "b", "a"])


def test_labels_that_are_none(fitted):
    with pytest.raises(ParameterError, match="labels of text 0"):
        fitted.copy().add(["a text"], [None])


def test_a_calibration_that_is_none_is_said_before_anything_is_read():
    def never():
        raise AssertionError("it was read")
        yield

    with pytest.raises(ParameterError, match="calibration"):
        small(calibration="magic").fit_documents(never())


def test_fewer_words_than_none(fitted):
    with pytest.raises(ParameterError, match="words"):
        fitted.explain("chess", words=-1)
    assert not any(voter.words for reason in fitted.explain("chess", words=0) for voter in reason.voters)


def test_more_labels_than_there_are_take_no_memory(fitted, refined, by_votes, corpus):
    text = corpus[0][0]
    for tagger in (fitted, refined, by_votes):
        (tags,), reasons = tagger.predict([text], k=10**14), tagger.explain(text, k=10**14)
        assert [tag.label for tag in tags] == [reason.label for reason in reasons]
        assert 5 < len(tags) <= len(tagger.labels)


def test_a_single_string_is_no_list_of_texts(fitted):
    with pytest.raises(ParameterError, match="single string"):
        fitted.predict("some text")


def test_several_texts_are_not_explained_at_once(fitted):
    for text in (["a game", "a library"], ("a game",), 7, None):
        with pytest.raises(ParameterError, match="explain takes one text, a string"):
            fitted.explain(text)


def test_texts_are_not_kept_unless_wished(corpus, tmp_path):
    tagger = small(keep_texts=False).fit(*corpus)
    assert tagger.stored.texts is None
    assert all(voter.text is None for reason in tagger.explain(corpus[0][0]) for voter in reason.voters)
    tagger.add(["more about networks"], [["network::server"]])
    tagger.save(tmp_path / "model")
    assert not any("texts" in path.name for path in (tmp_path / "model").iterdir())


def test_documents_are_read_once(corpus):
    read = []

    def documents():
        for number in range(300):
            read.append(number)
            yield Document(corpus[0][number], corpus[1][number], None, None, "")

    tagger = small().fit_documents(documents())
    assert read == list(range(300))
    assert "299" in tagger


def test_a_model_of_feature_rows_tags_no_texts(tmp_path):
    from contract import problem
    from neartag import store

    store.save(X1Classifier(embedding_dim=5).fit(problem().X, problem().Y), tmp_path / "model")
    with pytest.raises(ModelError, match="rows of features"):
        TextTagger.load(tmp_path / "model")


def test_a_damaged_calibration_is_said(fitted):
    from dataclasses import replace

    broken = replace(fitted.stored, extras={"calibration": {"kind": "isotonic"}})
    with pytest.raises(ModelError, match="calibration cannot be read"):
        TextTagger.of(broken)


def test_the_calibration_is_read_once(fitted):
    assert fitted.calibration is fitted.calibration
    assert fitted.copy().calibration is fitted.calibration
    assert TextTagger.of(fitted.stored).calibration == fitted.calibration


def test_what_is_no_encoder_is_refused():
    with pytest.raises(ParameterError, match="features: 7 is no encoder: it has no kind, accepts, fit, "):
        TextTagger(7)
    with pytest.raises(ParameterError, match="features='tfidf': must be auto, words, pairs, characters, all, or an"):
        TextTagger("tfidf")


# Where rankers decide


def test_refine_is_a_setting_of_the_classifier(corpus):
    few = [part[:300] for part in corpus]
    assert TextTagger().fit(*few).stored.model.reranker is not None
    assert TextTagger(refine=True).fit(*few).stored.model.reranker is not None
    assert TextTagger(refine=False).fit(*few).stored.model.reranker is None
    with pytest.raises(ParameterError, match=r"X1Classifier\(refine"):
        TextTagger(classifier=X1Classifier(), refine=True)


def test_refined_scores_are_probabilities_and_shares_those_of_the_votes(refined, corpus):
    texts = [*corpus[0][:30], "zzyzx", ""]
    assert refined.calibration is not None
    assert refined.calibration.error < 0.1
    # What the model says of one text and of many differs by rounding, which the curve multiplies where it is steep.
    rises = np.diff(refined.calibration.probabilities) / np.diff(refined.calibration.shares)
    near = 1e-5 * max(1.0, rises.max())
    X = refined.stored.features.transform(texts)
    _, together = refined.stored.model.predict_topk(X, 5)
    for row in range(len(texts)):
        _, one = refined.stored.model.predict_topk(X[[row]], 5)
        np.testing.assert_allclose(one[0], together[row], atol=1e-5)
    for text, tags in zip(texts, refined.predict(texts, 5), strict=True):
        (alone,) = refined.predict([text], 5)
        reasons = refined.explain(text, 5, voters=1000)
        assert [tag.label for tag in tags] == [tag.label for tag in alone] == [reason.label for reason in reasons]
        for tag, single, reason in zip(tags, alone, reasons, strict=True):
            assert tag.score == pytest.approx(single.score, abs=near)
            assert tag.score == pytest.approx(reason.score, abs=near)
            assert tag.share == pytest.approx(single.share, abs=1e-5)
            assert tag.share == pytest.approx(sum(voter.share for voter in reason.voters), abs=1e-5)
            assert 0 <= tag.share <= 1
    scores = [tag.score for tags in refined.predict(corpus[0][:30], 5) for tag in tags]
    shares = [tag.share for tags in refined.predict(corpus[0][:30], 5) for tag in tags]
    assert scores != shares


def test_without_calibration_a_refined_score_is_the_mixtures(corpus):
    classifier = X1Classifier(embedding_dim=20, n_jobs=1)
    plain = TextTagger("words", classifier, calibration=None).fit(*corpus)
    _, wanted = classifier.predict_topk(plain.stored.features.transform(corpus[0][:3]), 5)
    found = plain.predict(corpus[0][:3], 5)
    assert np.array([[tag.score for tag in tags] for tags in found]) == pytest.approx(wanted)


def test_the_words_that_a_ranker_weighed_add_up_to_its_margin(refined, corpus):
    text, model = corpus[0][7], refined.stored.model
    row = refined.stored.features.transform([text])
    signs = set()
    for reason in reasons(refined.stored, None, text, row, 10, 5, 1000, min_share=0.0, min_weight=0.0):
        label = refined.labels.index(reason.label)
        rankers = model.reranker.rankers
        (margin,) = rankers.margins(row, np.array([[label]], np.int32), 1)[0]
        assert sum(weight for _, weight in reason.words) + rankers.bias[label] == pytest.approx(margin, abs=1e-4)
        assert {word for word, _ in reason.words} <= set(text.lower().split())
        sizes = [abs(weight) for _, weight in reason.words]
        assert sizes == sorted(sizes, reverse=True)
        signs.update(weight > 0 for _, weight in reason.words)
        (short,) = [each for each in refined.explain(text, 10, words=3) if each.label == reason.label]
        assert short.words == reason.words[: len(short.words)]
        assert 1 <= len(short.words) <= 3
    assert signs == {True, False}, "words speak for labels and against them"


def test_a_model_that_is_not_refined_weighs_no_words(by_votes, corpus):
    assert all(reason.words == [] and reason.found == "votes" for reason in by_votes.explain(corpus[0][7]))
    assert {reason.found for reason in by_votes.explain("zzyzx", fallback=True)} == {"frequency"}


def test_a_label_that_nobody_near_has_may_be_given(corpus):
    tagger = TextTagger("words", X1Classifier(embedding_dim=20, vote_neighbours=2, n_jobs=1)).fit(*corpus)
    found = [reason for text in corpus[0][:20] for reason in tagger.explain(text, 20)]
    by_mean = [reason for reason in found if reason.found == "mean"]
    assert by_mean
    assert all(reason.voters == [] and reason.share == 0 for reason in by_mean)
    assert all(reason.voters and reason.share > 0 for reason in found if reason.found == "votes")
    assert {reason.found for reason in tagger.explain("zzyzx", fallback=True)} == {"frequency"}
    assert tagger.explain("zzyzx") == []


def test_a_refined_tagger_saved_and_loaded_is_the_same(refined, corpus, tmp_path):
    refined.save(tmp_path / "model")
    again = TextTagger.load(tmp_path / "model")
    assert again.predict(corpus[0][:30]) == refined.predict(corpus[0][:30])
    assert again.explain(corpus[0][3]) == refined.explain(corpus[0][3])


def test_a_new_label_of_a_refined_tagger(refined, corpus, tmp_path):
    tagger = refined.copy()
    text = corpus[0][11]
    tagger.add([text] * 3, [["brand::new"]] * 3, ["n1", "n2", "n3"])
    (few,) = [reason for reason in tagger.explain(text, 20) if reason.label == "brand::new"]
    assert few.words == [], "too few for a ranker: votes alone bring it up"
    assert {voter.id for voter in few.voters} == {"n1", "n2", "n3"}
    tagger.add([text] * 7, [["brand::new"]] * 7, [f"m{number}" for number in range(7)])
    (enough,) = [reason for reason in tagger.explain(text, 20) if reason.label == "brand::new"]
    assert enough.words, "its ranker was trained meanwhile"
    tagger.save(tmp_path / "model")
    again = TextTagger.load(tmp_path / "model")
    assert again.predict(corpus[0][:30]) == tagger.predict(corpus[0][:30])
    assert again.explain(text) == tagger.explain(text)
    tagger.forget(["n1", "n2", "n3", *(f"m{number}" for number in range(7))])
    assert tagger.predict(corpus[0][:40]) == refined.predict(corpus[0][:40])


def test_a_label_whose_documents_are_all_forgotten_is_not_given(refined, corpus):
    texts, tags, ids = corpus
    tagger, labels = refined.copy(), {"admin::filesystem", "devel::code-generator", "uitoolkit::wxwidgets"}
    own = [row for row in range(len(ids)) if labels.intersection(tags[row])]
    tagger.forget([ids[row] for row in own])
    given = {tag.label for found in tagger.predict([texts[row] for row in own], 20) for tag in found}
    assert not labels & given


def test_vectors_are_refined_too(corpus):
    from neartag.encoders.vectors import VectorFeatures

    signs = np.random.default_rng(0).normal(size=(2000, 30))
    vectors = np.array(
        [sum(signs[zlib.crc32(word.encode()) % 2000] for word in text.split()) for text in corpus[0]], np.float32
    )
    classifier = X1Classifier(embedding_dim=20, n_jobs=1)
    tagger = TextTagger(VectorFeatures(), classifier).fit(vectors, corpus[1], corpus[2])
    reasons = [reason for vector in vectors[:20] for reason in tagger.explain(vector, 3)]
    assert len(reasons) == 60
    assert all(0 <= reason.score <= 1 and reason.words == [] for reason in reasons)


def test_a_model_without_voters_explains_nothing():
    from neartag.comparators.knn import KNNClassifier
    from neartag.encoders.tfidf import TfidfFeatures
    from neartag.storage.bundle import StoredModel

    texts, labels = ["king queen", "loaf oven", "queen rook"], np.array([[1, 0], [0, 1], [1, 0]])
    features = TfidfFeatures()
    model = KNNClassifier().fit(features.fit_transform(texts), labels).model_
    tagger = TextTagger.of(StoredModel(model, ["chess", "bread"], None, features, {}))
    assert tagger.predict(["queen"], k=1)[0][0].label == "chess"
    with pytest.raises(ModelError, match="kind 'knn' has no voters"):
        tagger.explain("queen")


def test_a_text_that_nothing_is_known_of_has_no_answer_unless_asked_for(by_votes, refined):
    for tagger in (by_votes, refined):
        known, unknown, empty = tagger.predict(["chess game", "zzyzx", ""], 2)
        assert (known.found, unknown.found, empty.found) == (True, False, False)
        assert len(known) == 2
        assert known[:1].found, "a part of an answer is one"
        assert unknown == empty == []
        order = np.argsort(-tagger.stored.model.frequency, kind="stable")[:2]
        (frequent,) = tagger.predict(["zzyzx"], 2, 0.9, fallback=True)
        assert [tag.label for tag in frequent] == [tagger.labels[label] for label in order]
        assert {(tag.score, tag.share) for tag in frequent} == {(0.0, 0.0)}
        assert not frequent.found
        rare = tagger.labels[int(np.argsort(tagger.stored.model.frequency, kind="stable")[0])]
        assert [tag.label for tag in tagger.predict(["zzyzx"], 2, include=[rare], fallback=True)[0]] == [rare]
        assert tagger.predict(["chess game"], 2, include=[rare])[0].found, "known, though not by this label"


def test_any_method_tells_what_nothing_is_known_of():
    texts, labels = ["bake bread", "ride a bicycle", "bread with butter"], [["a"], ["b"], ["a"]]
    tagger = TextTagger("words", KNNClassifier(neighbours=2), calibration=None).fit(texts, labels)
    known, unknown = tagger.predict(["bread", "zzyzx"], 1)
    assert (known.found, known[0].label, unknown.found, unknown) == (True, "a", False, [])
    (frequent,) = tagger.predict(["zzyzx"], 1, include=["b"], fallback=True)
    assert [(tag.label, tag.score) for tag in frequent] == [("b", 0.0)]


def test_a_text_whose_documents_are_forgotten_is_not_found():
    texts = ["bake bread", "ride a bicycle", "bread with butter", "stars in the sky"]
    classifier = X1Classifier(embedding_dim=2, vote_neighbours=2, n_jobs=1)
    tagger = TextTagger("words", classifier).fit(texts, [["a"], ["b"], ["a"], ["c"]], ids="1234")
    assert tagger.predict(["stars"])[0].found
    tagger.forget(["4"])
    answer = tagger.predict(["stars"])[0]
    assert answer.found == bool(answer)


def test_score_and_parameters(by_votes, corpus):
    texts, labels, _ = corpus
    answers = by_votes.predict(texts[:40], 3)
    wanted = np.mean(
        [len({tag.label for tag in tags} & set(own)) / 3 for tags, own in zip(answers, labels, strict=False)]
    )
    assert by_votes.score(texts[:40], labels[:40], 3) == pytest.approx(wanted)
    with pytest.raises(ParameterError, match="39 lists of labels for 40 texts"):
        by_votes.score(texts[:40], labels[:39])
    params = TextTagger("words", X1Classifier(embedding_dim=7), keep_texts=False).get_params()
    assert (params["features"], params["keep_texts"], params["classifier__embedding_dim"]) == ("words", False, 7)
    assert TextTagger().get_params(deep=False)["classifier"] is None
