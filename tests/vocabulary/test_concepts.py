"""A vocabulary as a value: found by any name, stored and read back, renamed and merged, and labels mapped to it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neartag.core.errors import DataError, ParameterError
from neartag.data.near_duplicates import find_near_duplicates
from neartag.tagging import restricted
from neartag.vocabulary.concepts import Concept, Vocabulary
from neartag.vocabulary.hierarchy import Hierarchy
from neartag.vocabulary.mapping import map_labels
from neartag.vocabulary.read import read_vocabulary
from neartag.vocabulary.selection import LabelSelection
from neartag.vocabulary.state import from_json, to_json

BASE = "http://example.org/"
ANIMALS = Concept("animals", BASE + "animals", {"en": "animals"})
DOGS = Concept("dogs", BASE + "dogs", {"en": "dogs", "fi": "koirat"}, ("hounds",), (ANIMALS.uri,))
PUPPIES = Concept("puppies", BASE + "puppies", {"en": "puppies"}, (), (DOGS.uri,))
SMALL = Vocabulary((ANIMALS, DOGS, PUPPIES), True, "en")

NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6)
CONCEPTS = st.builds(
    Concept,
    NAMES,
    NAMES.map(lambda name: BASE + name) | st.just(""),
    st.dictionaries(st.sampled_from(["en", "fi", ""]), NAMES),
    st.lists(NAMES, max_size=3).map(tuple),
    st.lists(NAMES.map(lambda name: BASE + name), max_size=2).map(tuple),
)
VOCABULARIES = st.builds(
    lambda concepts, closed: Vocabulary(
        tuple({each.uri or each.label: each for each in {each.label: each for each in concepts}.values()}.values()),
        closed,
        "en",
    ),
    st.lists(CONCEPTS, max_size=6),
    st.booleans(),
)


@given(VOCABULARIES)
def test_stored_and_read_back_it_is_the_same(vocabulary):
    assert from_json(json.loads(json.dumps(to_json(vocabulary)))) == vocabulary


@given(st.lists(NAMES, min_size=1, unique=True))
def test_a_list_and_a_tsv_are_read_as_they_were_written(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("vocabulary")
    (folder / "list.txt").write_text("\n".join(names), encoding="utf-8")
    (folder / "uris.tsv").write_text(
        "".join(f"<{BASE}{number}>\t{name}\n" for number, name in enumerate(names)), encoding="utf-8"
    )
    assert [each.label for each in read_vocabulary(folder / "list.txt").concepts] == names
    read = read_vocabulary(folder / "uris.tsv").concepts
    assert [(each.uri, each.label) for each in read] == [(f"{BASE}{number}", name) for number, name in enumerate(names)]


@given(VOCABULARIES, st.data())
def test_every_name_leads_somewhere_after_a_rename_and_a_merge(vocabulary, data):
    if len(vocabulary) < 2:
        return
    one, other = data.draw(st.permutations([each.label for each in vocabulary.concepts]))[:2]
    renamed = vocabulary.rename(one, "a new name")
    assert renamed.find("a new name").uri == vocabulary.get(one).uri
    assert one in renamed.get("a new name").alternatives
    merged = vocabulary.merge(one, other)
    assert len(merged) == len(vocabulary) - 1
    assert {one, *vocabulary.get(one).other_names} <= {other, *merged.get(other).alternatives}


@pytest.mark.parametrize(
    "document",
    [None, {}, {"closed": 1}, {"closed": True, "language": "en"}]
    + [
        {"closed": True, "language": "", "concepts": [bad]}
        for bad in (None, ["a"], [1, "", {}, [], []], ["a", "", {}, [1], []], ["a", "", {"en": 1}, [], []])
    ],
)
def test_what_is_damaged_is_refused(document):
    with pytest.raises(ValueError, match=r"it|its|concept"):
        from_json(document)


def test_two_concepts_cannot_share_a_label_or_a_uri():
    with pytest.raises(DataError, match="label 'dogs'"):
        Vocabulary((DOGS, Concept("dogs")))
    with pytest.raises(DataError, match=f"URI '{DOGS.uri}'"):
        Vocabulary((DOGS, Concept("cats", DOGS.uri)))


def test_labels_are_mapped_by_any_name():
    assert map_labels(["hounds", "koirat", DOGS.uri, "animals"], SMALL, ()) == ["dogs", "animals"]


def test_a_closed_vocabulary_refuses_and_an_open_one_keeps():
    with pytest.raises(DataError, match=r"docs.jsonl:7: the label 'Dogs' is not .* did you mean 'dogs'\?"):
        map_labels(["Dogs"], SMALL, (), "docs.jsonl:7")
    assert map_labels(["cats"], SMALL, {"cats"}) == ["cats"]
    assert map_labels(["cats"], Vocabulary(SMALL.concepts, closed=False), ()) == ["cats"]


def test_a_merge_moves_what_was_narrower():
    merged = SMALL.merge("dogs", "animals")
    assert merged.narrower(merged.get("animals")) == {"animals", "puppies"}
    assert merged.find(DOGS.uri).label == merged.find("koirat").label == "animals"
    with pytest.raises(ParameterError, match="merge the two"):
        SMALL.rename("dogs", "animals")


def test_a_name_that_was_given_away_can_be_used_again():
    twice = SMALL.rename("dogs", "canines").rename("animals", "dogs")
    assert twice.find("dogs").uri == ANIMALS.uri
    assert twice.rename("canines", "koirat").find("koirat").uri == DOGS.uri


def test_labels_are_selected_by_name_prefix_and_broader_concept():
    labels = ["animals", "animation", "dogs", "puppies"]
    selection = LabelSelection(labels, SMALL)

    def chosen(include=None, exclude=None):
        return [label for label, asked in zip(labels, selection.select(include, exclude), strict=True) if asked]

    assert chosen() == labels
    assert chosen(["hounds"]) == chosen([DOGS.uri]) == ["dogs"]
    assert chosen(["anim*"]) == ["animals", "animation"]
    assert chosen(["under:dogs"]) == ["dogs", "puppies"]
    assert chosen(["under:animals"], ["dogs"]) == ["animals", "puppies"]
    assert chosen(["animation", "hounds", "puppies"]) == ["animation", "dogs", "puppies"]
    assert chosen({"animals"}) == ["animals"]
    assert chosen(exclude=["under:animals"]) == ["animation"]
    assert chosen([]) == []
    for wrong in ("cats", "cats*", "under:cats"):
        with pytest.raises(ParameterError, match="cats"):
            chosen([wrong])
    with pytest.raises(ParameterError, match="no vocabulary"):
        LabelSelection(labels, None).select(["under:dogs"], None)
    with pytest.raises(ParameterError, match="give a list"):
        chosen("dogs")


@pytest.mark.parametrize("seed", range(3))
def test_what_is_below_a_concept_is_what_a_walk_finds(seed):
    """Any graph, circles too."""
    random = np.random.default_rng(seed)
    parents = [random.choice(30, random.integers(0, 3), replace=False).tolist() for _ in range(30)]
    hierarchy = Hierarchy(parents)
    for start in range(30):
        below = {start}
        while more := {child for child, above in enumerate(parents) if below & set(above)} - below:
            below |= more
        assert sorted(hierarchy.below(start).tolist()) == sorted(below)


def test_labels_are_laid_out_once_for_all_requests(monkeypatch):
    """Each request for another list took a third of its time for that."""
    made = []
    monkeypatch.setattr(restricted, "LabelSelection", lambda *given: made.append(given) or LabelSelection(*given))
    stored = SimpleNamespace(label_names=["dogs", "cats"], vocabulary=SMALL, model=SimpleNamespace())
    models = restricted.RestrictedModels()
    for label in ("dogs", "cats", "hounds"):
        models.get(stored, [label], None)
    models.get(SimpleNamespace(**{**vars(stored), "label_names": ["dogs", "cats"]}), ["cats"], None)
    assert len(made) == 1
    models.get(SimpleNamespace(**{**vars(stored), "label_names": ["dogs", "cats", "new"]}), ["new"], None)
    assert len(made) == 2


def test_near_duplicates_are_found():
    labels = ["pid", "Web-Server", "PID", "web server", "C", "C++", "c", "+", "-"]
    assert find_near_duplicates(labels) == [["C", "c"], ["PID", "pid"], ["Web-Server", "web server"]]
