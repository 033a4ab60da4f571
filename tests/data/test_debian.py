"""The embedded corpus, and the script that builds it, run on a small invented index."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from neartag.core.errors import ParameterError
from neartag.data import debian

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "build_debian_corpus.py"

INDEX = """\
Package: paint-tool
Version: 2.0
Source: paint (1.0-3)
Description: Draw Pictures, e.g. C++ ones
 A sentence that must never be kept.
Tag: role::program, works-with::{image, video},
 use::TODO, special::auto-inst-parts

Package: paint-data
Source: paint
Description: data for paint
Tag: role::app-data, works-with::image

Package: untagged
Description: nothing is known of it

Package: only-todo
Description: no tag is left
Tag: admin::TODO

Package: paint-tool
Version: 1.0
Description: an older entry of the same name
Tag: role::shared-lib
"""


@pytest.fixture(scope="module")
def builder():
    spec = importlib.util.spec_from_file_location("build_debian_corpus", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_packages_are_read_with_words_tags_and_source(builder):
    data, tool = builder.read_packages(INDEX.split("\n"))
    assert (tool.name, tool.source) == ("paint-tool", "paint")
    assert tool.words == ["c", "draw", "e", "g", "ones", "paint", "pictures", "tool"]
    assert tool.tags == ["role::program", "works-with::image", "works-with::video"]
    assert (data.name, data.source, data.words) == ("paint-data", "paint", ["data", "for", "paint"])


@pytest.mark.parametrize(
    ("tag", "expanded"),
    [
        ("role::program", ["role::program"]),
        ("works-with::{image,video}", ["works-with::image", "works-with::video"]),
        ("a::{b,c}:{d,e}", ["a::b:d", "a::b:e", "a::c:d", "a::c:e"]),
    ],
)
def test_braces_are_expanded(builder, tag, expanded):
    assert builder.expand_tag(tag) == expanded


def test_rare_tags_go_and_so_do_packages_left_without_any(builder):
    corpus = builder.build(INDEX.split("\n"), "1.0", minimum=2)
    tags = [line for part in ("train", "test") for line in corpus[part]["tags"].split("\n") if line]
    assert tags == ["works-with::image", "works-with::image"]
    assert corpus["counts"]["tags"] == 1
    assert builder.build(INDEX.split("\n"), "1.0", minimum=3)["counts"]["packages"] == 0


def test_the_split_is_about_80_to_20_and_by_source(builder):
    share = np.mean([builder.is_train(f"source-{number}") for number in range(5000)])
    assert 0.78 < share < 0.82
    siblings = [f"Package: p{i}\nSource: s{i % 7} ({i})\nDescription: x\nTag: a::b\n" for i in range(70)]
    corpus = builder.build("\n".join(siblings).split("\n"), "1.0")
    assert not set(corpus["train"]["sources"].split("\n")) & set(corpus["test"]["sources"].split("\n"))
    assert corpus["counts"]["train"] + corpus["counts"]["test"] == 70


def test_the_file_has_the_same_bytes_every_time(builder):
    first, second = (builder.compress(builder.build(INDEX.split("\n"), "1.0", minimum=1)) for _ in range(2))
    assert first == second
    assert b"Debian" not in first  # compressed indeed


def test_no_source_package_straddles_the_shipped_split(builder):
    train, test = debian.load("train"), debian.load("test")
    assert not set(train.sources) & set(test.sources)
    assert all(builder.is_train(source) for source in train.sources)
    assert not any(builder.is_train(source) for source in test.sources)


def test_what_is_shipped_agrees_with_its_counts_and_rules():
    parts = [debian.load("train"), debian.load("test")]
    info = debian.info()
    assert [len(part.names) for part in parts] == [info["train"], info["test"]]
    assert info["packages"] == info["train"] + info["test"] > 25_000
    assert info["release"].startswith("Debian ")
    words = {word for part in parts for row in part.words for word in row}
    assert len(words) == info["words"]
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in words)
    assert all(row == sorted(set(row)) for part in parts for row in part.words + part.tags)
    frequency = sum(part.label_matrix(debian.tag_names()).sum(axis=0) for part in parts)
    assert frequency.min() >= 5
    assert len(debian.tag_names()) == info["tags"] == frequency.size
    assert not any(tag.endswith(":TODO") or tag.startswith("special::") for tag in debian.tag_names())
    assert all(row for part in parts for row in part.tags)


def test_label_matrix_by_hand():
    part = debian.DebianPart(["p", "q", "r"], ["p", "q", "r"], [["p"], ["q"], ["r"]], [["b", "a"], ["unknown"], ["b"]])
    assert part.label_matrix(["a", "b"]).toarray().tolist() == [[1, 1], [0, 0], [0, 1]]


def test_a_callers_changes_do_not_reach_the_next_caller():
    debian.load("test").words[0].append("changed")
    assert "changed" not in debian.load("test").words[0]


def test_it_is_small_and_decompressed_once():
    file = Path(debian.__file__).with_name(debian.FILE_NAME)
    assert file.stat().st_size < 1_500_000
    debian._read.cache_clear()
    for part in ("train", "test", "train"):
        debian.load(part)
    debian.tag_names()
    debian.info()
    assert debian._read.cache_info().misses == 1


def test_an_unknown_part_is_named():
    with pytest.raises(ParameterError, match="part='validation'"):
        debian.load("validation")
