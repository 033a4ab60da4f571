"""What is told of a file before training: how it was read, its labels, and what looks wrong about them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from neartag.data.documents import Fields
from neartag.data.documents.describe import describe_fields, describe_labels, find_suspicions


def test_how_a_file_was_read():
    fields = Fields(
        text=("title", "body"), labels="tags", delimiter=";", quoting="double", encoding="cp1252", separator=","
    )
    said = "cells separated by ';'; encoding cp1252; text from title + body; labels from tags, separated by ','"
    assert describe_fields(fields) == said
    many = tuple(f"l{number}" for number in range(9))
    said = "text from text; labels from l0 … l8 (9 columns), by 0 and 1"
    assert describe_fields(Fields(labels=many, indicators=True)) == said
    said = "cells separated by tabs, quoting none; text from text"
    assert describe_fields(Fields(delimiter="tab", quoting="none"), labelled=False) == said
    said = "text from text; labels from labels or subjects, one in a cell; rows of one document put together"
    assert describe_fields(Fields(separator="none", label_per_row=True)) == said


def test_the_most_frequent_labels():
    Y = csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]]))
    assert describe_labels(Y, ["a", "b", "c"]) == [
        "3 documents, 2 labels; without a label: 1",
        "most frequent: a (2), b (1)",
    ]
    assert describe_labels(csr_matrix((2, 1)), [""]) == ["2 documents, 0 labels; without a label: 2"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["0", "1"], "the only labels are 0 and 1"),
        (["a, b", "c"], "1 labels hold ','"),
        (["a", "b;c", "d;e"], "2 labels hold ';'"),
        (
            ["PID", "pid", "x"],
            "labels that differ only in case or punctuation: 'PID', 'pid'; to make two one: neartag labels",
        ),
        (["a b", "b c", "a c"], "--separator space"),
        (["a/b", "b/c", "c/a", "d"], "3 labels are made of the same parts, such as 'a/b'; --separator / splits them"),
        (["a+b", "b+c", "c+a", "d+a", "e+b"], "--separator + splits them"),
        (["a" * 101, "b"], "longer than 100 characters"),
        ([f"n{number}" for number in range(11)], "no label stands at two documents"),
    ],
)
def test_suspicions(names, said):
    (problem,) = find_suspicions(names, np.ones(len(names), int))
    assert said in problem


def test_nothing_suspicious():
    assert find_suspicions(["science/physics", "science/maths", "arts/music", "TCP/IP", "C++"], np.full(5, 2)) == []
    assert find_suspicions(["bread", "soup", "red wine", "unused, label"], np.array([2, 1, 4, 0])) == []
