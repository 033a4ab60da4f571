"""Data frames of pandas and polars in TextTagger: rows are documents, and column names are never taken for texts."""

from __future__ import annotations

import pytest

from neartag import TextTagger, X1Classifier
from neartag.core.errors import DataError, ParameterError
from neartag.data.documents import Fields
from neartag.data.documents.frames import frame_texts, is_frame, read_frame

TEXTS = ["bake bread in the oven", "ride a bicycle", "bread with butter", "the wheel of a bicycle"]
CELLS = ["cooking|oven", "cycling", "cooking", "cycling|wheel"]


class PandasLike:
    """What neartag asks of a frame of pandas."""

    def __init__(self, columns):
        self.columns, self._values = list(columns), list(columns.values())

    def itertuples(self, index, name):
        assert not index
        assert name is None
        return zip(*self._values, strict=True)

    def __iter__(self):
        return iter(self.columns)


class PolarsLike:
    """What neartag asks of a frame of polars."""

    def __init__(self, columns):
        self.columns, self._values = list(columns), list(columns.values())

    def iter_rows(self):
        return zip(*self._values, strict=True)

    def __iter__(self):
        return iter(self._values)


@pytest.fixture(params=["like pandas", "like polars", "pandas", "polars"])
def make_frame(request):
    """What makes a frame of columns: look-alikes, which every run has, and the real ones where they are installed."""
    if request.param.startswith("like"):
        return {"like pandas": PandasLike, "like polars": PolarsLike}[request.param]
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed").DataFrame


def make_tagger():
    return TextTagger(classifier=X1Classifier(embedding_dim=2, vote_neighbours=2, n_jobs=1))


def test_cells_and_lists_of_labels(make_frame):
    lists = [cell.split("|") for cell in CELLS]
    for labels in (CELLS, lists):
        frame = make_frame({"id": [1, 2, 3, 4], "text": TEXTS, "labels": labels})
        assert is_frame(frame)
        read = list(read_frame(frame))
        assert [(d.text, d.labels, d.id) for d in read] == [
            (text, names, str(number)) for number, (text, names) in enumerate(zip(TEXTS, lists, strict=True), 1)
        ]


def test_columns_of_0_and_1_and_a_row_for_each_label(make_frame):
    frame = make_frame({"text": ["a", "b"], "u": [1, 0], "v": [True, False], "w": [0.0, 1.0]})
    assert [d.labels for d in read_frame(frame)] == [["u", "v"], ["w"]]
    assert [d.labels for d in read_frame(frame, Fields(labels=("u", "w")))] == [["u"], ["w"]]
    frame = make_frame({"id": [1, 1, 2], "text": ["a", "a", "b"], "labels": ["x", "y", None]})
    assert [(d.text, d.labels) for d in read_frame(frame)] == [("a", ["x", "y"]), ("b", [])]


def test_a_tagger_learns_from_a_frame_and_tags_one(make_frame):
    by_lists = make_tagger().fit(TEXTS, [cell.split("|") for cell in CELLS], ["a", "b", "c", "d"])
    frame = make_frame({"id": ["a", "b", "c", "d"], "text": TEXTS, "labels": CELLS})
    tagger = make_tagger().fit(frame)
    assert tagger.labels == by_lists.labels
    assert tagger.predict(frame, k=1) == by_lists.predict(TEXTS, k=1)
    assert tagger.predict(frame["text"] if hasattr(frame, "__getitem__") else TEXTS, 1) == tagger.predict(TEXTS, 1)
    frame = make_frame({"title": ["stars"], "body": ["the night sky"], "tags": ["astronomy"]})
    by_lists.add(frame, fields=Fields(text=("title", "body"), labels="tags"))
    assert frame_texts(frame, Fields(text=("title", "body"))) == ["stars\nthe night sky"]
    assert "astronomy" in by_lists.labels


def test_what_is_refused(make_frame):
    tagger = make_tagger().fit(TEXTS, [cell.split("|") for cell in CELLS])
    frame = make_frame({"body": TEXTS, "labels": CELLS})
    with pytest.raises(ParameterError, match="no column 'text', only 'body', 'labels'"):
        tagger.predict(frame)
    with pytest.raises(DataError, match="no column 'text'"):
        tagger.fit(frame)
    with pytest.raises(ParameterError, match="the labels are a data frame"):
        tagger.fit(TEXTS, frame)
    with pytest.raises(ParameterError, match="the ids of a data frame"):
        tagger.fit(frame, ids=["a"] * 4)
    with pytest.raises(ParameterError, match="the texts are a dict"):
        tagger.predict({"text": TEXTS})
    with pytest.raises(ParameterError, match="only a data frame"):
        tagger.fit(TEXTS)
