"""Each format is read, or refused with the line."""

from __future__ import annotations

import gzip

import pytest

from neartag.core.errors import DataError
from neartag.vocabulary.concepts import Concept
from neartag.vocabulary.read import read_vocabulary

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/> .
:animals a skos:Concept ; skos:prefLabel "animals"@en, "eläimet"@fi ; skos:narrower :dogs .
:dogs a skos:Concept ; skos:prefLabel "dogs"@en, "koirat"@fi ; skos:altLabel "hounds"@en ; skos:hiddenLabel "dgos"@en .
:puppies a skos:Concept ; skos:prefLabel "puppies"@en ; skos:broader :dogs .
:bank1 a skos:Concept ; skos:prefLabel "bank"@en .
:bank2 a skos:Concept ; skos:prefLabel "bank"@en .
:old a skos:Concept ; skos:prefLabel "old"@en ; owl:deprecated true .
"""


def write(path, content: str):
    path.write_text(content, encoding="utf-8")
    return path


def test_a_list(tmp_path):
    vocabulary = read_vocabulary(write(tmp_path / "labels.txt", "\ufeffdogs\n\ncats\ndogs\n"))
    assert [each.label for each in vocabulary.concepts] == ["dogs", "cats"]
    assert vocabulary.closed


def test_annif_tsv(tmp_path):
    path = tmp_path / "yso.tsv.gz"
    content = "<http://example.org/1>\tdogs\n<http://example.org/2>\tcats\tC2\n<http://example.org/1>\thounds\n"
    path.write_bytes(gzip.compress(content.encode()))
    vocabulary = read_vocabulary(path, closed=False)
    assert vocabulary.concepts == (
        Concept("dogs", "http://example.org/1", {"": "dogs"}, ("hounds",)),
        Concept("cats", "http://example.org/2", {"": "cats"}),
    )
    assert not vocabulary.closed


@pytest.fixture(params=["turtle", "xml", "nt"])
def skos(request, tmp_path):
    rdflib = pytest.importorskip("rdflib")
    path = tmp_path / f"skos.{ {'turtle': 'ttl', 'xml': 'rdf', 'nt': 'nt'}[request.param] }"
    rdflib.Graph().parse(data=TURTLE, format="turtle").serialize(str(path), format=request.param, encoding="utf-8")
    return path


def test_skos(skos):
    vocabulary = read_vocabulary(skos)
    assert vocabulary.language == "en"
    assert vocabulary.get("dogs") == Concept(
        "dogs",
        "http://example.org/dogs",
        {"en": "dogs", "fi": "koirat"},
        ("dgos", "hounds"),
        ("http://example.org/animals",),
    )
    assert vocabulary.find("old") is None
    assert vocabulary.find("koirat").label == "dogs"
    assert vocabulary.narrower(vocabulary.find("animals")) == {"animals", "dogs", "puppies"}
    assert vocabulary.find("http://example.org/bank2").label == "bank (http://example.org/bank2)"
    with pytest.raises(DataError, match=r"'bank' stands for 2 concepts .*give the URI"):
        vocabulary.find("bank")


def test_labels_in_another_language(skos):
    vocabulary = read_vocabulary(skos, language="fi")
    assert vocabulary.find("dogs").label == "koirat"
    assert vocabulary.get("puppies") is not None  # it has no Finnish name
    with pytest.raises(DataError, match=r"language 'sv'; languages of the names: en, fi"):
        read_vocabulary(skos, language="sv")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("labels.txt", "dogs\n<http://example.org/1>\tcats\n", r"labels.txt:2: a tab in a list .*\.tsv"),
        ("labels.tsv", "http://example.org/1\tdogs\ncats\n", r"labels.tsv:2: not a URI, a tab and a name"),
        ("labels.txt", "\n\n", "there is no concept"),
        ("labels.json", "[]", r"ends in one of \.txt, \.tsv"),
    ],
)
def test_what_is_no_vocabulary_is_refused(tmp_path, name, content, told):
    with pytest.raises(DataError, match=told):
        read_vocabulary(write(tmp_path / name, content))


def test_other_refusals(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_vocabulary(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes("eläimet".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin.txt:1: not UTF-8"):
        read_vocabulary(tmp_path / "latin.txt")
    pytest.importorskip("rdflib")
    with pytest.raises(DataError, match="cannot be read as SKOS"):
        read_vocabulary(write(tmp_path / "bad.ttl", "this is { no Turtle"))
