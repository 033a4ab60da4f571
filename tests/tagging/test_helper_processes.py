"""Helper processes for documents: as many as there is room for, and the same corpus with and without them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from neartag.core import processes
from neartag.core.errors import DataError
from neartag.data import line_blocks
from neartag.data.documents import documents
from neartag.data.mapped import mapped_bytes, memory_limit
from neartag.encoders import count_by_helpers
from neartag.encoders.feature_kinds import AutoFeatures
from neartag.encoders.tfidf import TfidfFeatures
from neartag.tagging import helper_processes
from neartag.tagging.feature_choice import fit_corpus
from neartag.tagging.helper_processes import HELPER_BYTES, count_helpers, offer_helpers


@pytest.fixture
def path(tmp_path):
    random = np.random.default_rng(0)
    with open(tmp_path / "data.jsonl", "w", encoding="utf-8") as file:
        for number in range(300):
            text = " ".join(random.choice(["chess", "Käse", "bread", "dough", "queen", "oven"], 8))
            labels = [f"label {label}" for label in random.integers(0, 5, 2)]
            file.write(json.dumps({"text": text, "labels": labels, "id": number}, ensure_ascii=False) + "\n")
    return tmp_path / "data.jsonl"


@pytest.fixture
def tiny(monkeypatch):
    """Let blocks be small, and helpers start at once."""
    monkeypatch.setattr(processes, "SECONDS_HERE", 0)
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(count_by_helpers, "BLOCK_CHARACTERS", 1000)


def state_of(corpus, encoder):
    X, Y = corpus.X, corpus.Y
    arrays = X.data, X.indices, X.indptr, Y.data, Y.indices, Y.indptr, encoder.idf_, *corpus.texts.to_arrays()
    names = corpus.label_names, corpus.ids, encoder.feature_names_
    return [(array.dtype.str, array.tobytes()) for array in arrays], names


def test_as_many_as_there_is_room_for(monkeypatch):
    monkeypatch.setattr(helper_processes.memory, "in_use", lambda: 100)
    monkeypatch.setattr(helper_processes.memory, "total", lambda: 100 + 8 * HELPER_BYTES)
    assert count_helpers(7, None) == 4, "of a machine, or a container, with little memory"
    monkeypatch.setattr(helper_processes.memory, "total", lambda: None)
    assert count_helpers(7, None) == 7
    assert count_helpers(96, None) == helper_processes.MAX_HELPERS
    assert count_helpers(7, 100 + 6 * HELPER_BYTES) == 3
    assert count_helpers(2, 100 + 6 * HELPER_BYTES) == 2
    assert count_helpers(2, 10) == 0


@pytest.mark.parametrize(("n_jobs", "limit"), [(1, None), (None, None), (4, 2**20)])
def test_none_for_one_job_or_little_memory(n_jobs, limit):
    with offer_helpers(n_jobs, limit):
        assert processes.offered_processes() is None


def test_those_of_others_are_used():
    with offer_helpers(2):
        offered = processes.offered_processes()
        with offer_helpers(3, 10):
            assert processes.offered_processes() is offered
    assert processes.offered_processes() is None


@pytest.mark.parametrize("encoder", [TfidfFeatures, lambda: TfidfFeatures(hashing=100), AutoFeatures])
def test_real_processes_make_the_same_corpus(path, tiny, encoder):
    wanted = state_of(*fit_corpus(documents(path), encoder(), n_jobs=1))
    assert state_of(*fit_corpus(documents(path), encoder(), n_jobs=2)) == wanted


def test_real_processes_name_the_line_that_is_wrong(path, tiny):
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[200] = '{"text": 3}'
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=r"data\.jsonl:201: 'text' is a JSON number"):
        fit_corpus(documents(path), TfidfFeatures(), n_jobs=2)
    assert processes.offered_processes() is None


@pytest.mark.parametrize("encoder", [TfidfFeatures, AutoFeatures])
def test_a_corpus_in_files_is_the_same(path, encoder):
    wanted = fit_corpus(documents(path), encoder(), n_jobs=1)
    within = fit_corpus(documents(path), encoder(), n_jobs=1, max_memory=4000)
    with memory_limit(4000):
        inside = fit_corpus(documents(path), encoder(), n_jobs=1)
    for found in (within, inside):
        assert state_of(*found) == state_of(*wanted)
        X, Y = found[0].X, found[0].Y
        arrays = X.data, X.indices, Y.data, Y.indices, found[0].texts.to_arrays()[0]
        assert mapped_bytes(*arrays) == sum(array.nbytes for array in arrays)
    usual = wanted[0].X
    assert mapped_bytes(usual.data, usual.indices) == 0
