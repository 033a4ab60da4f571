"""Embeddings and label graphs for other programs, read back by the libraries that those use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cli_helpers import fail, succeed
from hybrid_helpers import hybrid_problem
from neartag import X1Classifier
from neartag.storage import store
from neartag.storage.bundle import StoredModel
from neartag.tagging.export_embeddings import meaning_vectors, write_embeddings
from neartag.tagging.export_label_graph import label_edges, write_label_graph
from neartag.vocabulary.concepts import Concept, Vocabulary
from serve_helpers import train

NS = {"g": "http://graphml.graphdrawing.org/xmlns"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("export") / "model"
    train(n_clusters=2).save(place)
    return place


@pytest.fixture(scope="module")
def stored(folder):
    return store.load(folder)


def read_graph(path):
    graph = ElementTree.parse(path).getroot().find("g:graph", NS)

    def read(tag):
        return [
            {**each.attrib, **{data.get("key"): data.text for data in each.findall("g:data", NS)}}
            for each in graph.findall(f"g:{tag}", NS)
        ]

    return read("node"), read("edge")


def test_npz_has_each_document_where_its_cluster_put_it(folder, stored, tmp_path):
    succeed("export", folder, tmp_path / "e.npz", "-q")
    found = np.load(tmp_path / "e.npz", allow_pickle=False)
    for number, cluster in enumerate(stored.model.learners[0].clusters):
        np.testing.assert_array_equal(found["embeddings"][cluster.members], cluster.points)
        assert (found["clusters"][cluster.members] == number).all()
    assert json.loads(bytes(found["ids"])) == stored.point_names
    assert json.loads(bytes(found["label_names"])) == stored.label_names
    np.testing.assert_array_equal(found["Y_pointers"], stored.model.Y.indptr)


def test_parquet_has_the_same(folder, stored, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("neartag.tagging.export_embeddings.ROWS_AT_ONCE", 250)
    succeed("export", folder, tmp_path / "e.npz", "-q")
    succeed("export", folder, tmp_path / "e.parquet", "-q")
    table = parquet.read_table(tmp_path / "e.parquet")
    points = np.stack(table["embedding"].to_numpy())
    np.testing.assert_array_equal(points, np.load(tmp_path / "e.npz")["embeddings"])
    assert table["id"].to_pylist() == stored.point_names
    last = stored.model.Y[stored.model.n_points - 1].indices
    assert table["labels"].to_pylist()[-1] == [stored.label_names[label] for label in last]


def test_vectors_of_meaning(tmp_path):
    X, Y = hybrid_problem()[:2]
    model = X1Classifier(embedding_dim=8, n_jobs=1, refine=False).fit(X, Y).model_
    found = meaning_vectors(StoredModel(model, None, None, None, {}))
    write_embeddings(found, tmp_path / "v.npz")
    written = np.load(tmp_path / "v.npz")["embeddings"]
    assert written.shape == (model.n_points, model.vector_dim)
    lengths = np.linalg.norm(X.vectors, axis=1)
    there = lengths > 0
    assert not written[~there].any()
    unit = X.vectors[there] / lengths[there, None]
    np.testing.assert_allclose(written[there], unit, atol=0.01)  # int8 has steps of at most 1/127


def test_edges_are_those_of_the_label_matrix(stored, tmp_path):
    edges = list(label_edges(stored, per_label=10**6, min_together=2))
    counts = (stored.model.Y.T.astype(int) @ stored.model.Y.astype(int)).toarray()
    frequency = np.diag(counts)
    one, two = np.nonzero(np.triu(counts >= 2, 1))
    assert [(edge.one, edge.two) for edge in edges] == list(zip(one.tolist(), two.tolist(), strict=True))
    for edge in edges[::17]:
        assert edge.together == counts[edge.one, edge.two]
        either = frequency[edge.one] + frequency[edge.two] - edge.together
        assert edge.weight == pytest.approx(edge.together / either)


def test_few_edges_are_the_strongest_of_each_label(stored, monkeypatch):
    whole = list(label_edges(stored, per_label=3))
    monkeypatch.setattr("neartag.tagging.export_label_graph.LABELS_AT_ONCE", 7)
    assert list(label_edges(stored, per_label=3)) == whole
    assert len(whole) <= 3 * stored.model.n_labels
    counts = (stored.model.Y.T.astype(int) @ stored.model.Y.astype(int)).toarray()
    np.fill_diagonal(counts, 0)
    pairs = {(edge.one, edge.two) for edge in whole}
    for label in np.flatnonzero(counts.max(axis=1) >= 2)[:20].tolist():
        best = int(counts[label].argmax())
        assert (min(label, best), max(label, best)) in pairs


def test_the_command_writes_graphml(folder, stored, tmp_path):
    told = json.loads(succeed("export", folder, tmp_path / "g.graphml", "--json"))
    nodes, edges = read_graph(tmp_path / "g.graphml")
    assert (told["labels"], told["edges"]) == (len(nodes), len(edges))
    assert [node["label"] for node in nodes] == stored.label_names
    assert [int(node["documents"]) for node in nodes] == stored.model.frequency.tolist()
    assert {edge["source"] for edge in edges} <= {node["id"] for node in nodes}


def test_broader_labels_are_joined_and_names_cannot_break_the_file(stored, tmp_path):
    names = [f"<&\x00\ud800{number}\n" for number in range(stored.model.n_labels)]
    uris = [f"http://example.org/{number}" for number in range(len(names))]
    last = len(names) - 1
    concepts = (Concept(names[last], uris[last]), Concept(names[0], uris[0], broader=(uris[last], "http://elsewhere")))
    changed = replace(stored, label_names=names, vocabulary=Vocabulary(concepts))
    write_label_graph(changed, label_edges(changed), tmp_path / "g.graphml")
    nodes, edges = read_graph(tmp_path / "g.graphml")
    assert nodes[7]["label"].startswith("<&��7")
    assert nodes[0]["uri"] == uris[0]
    (joined,) = [edge for edge in edges if "broader" in edge]
    assert (joined["source"], joined["target"], joined["broader"]) == ("n0", f"n{last}", f"n{last}")


def test_mistakes_are_told(folder, tmp_path):
    assert "ending must be one of" in fail("export", folder, tmp_path / "e.csv")
    assert "no learner 7" in fail("export", folder, tmp_path / "e.npz", "--learner", "7", "-q")
    assert "no vectors" in fail("export", folder, tmp_path / "e.npz", "--vectors", "-q")
    assert "--per-label must be at least 1" in fail("export", folder, tmp_path / "e.graphml", "--per-label", "0")
    (tmp_path / "there.npz").touch()
    assert "--overwrite" in fail("export", folder, tmp_path / "there.npz")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["there.npz"]


def test_the_python_of_the_documentation_runs(folder, stored, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "sharing.md").read_text(encoding="utf-8")
    (block,) = [part.split("```")[0] for part in page.split("```python\n")[1:] if "embeddings.npz" in part]
    monkeypatch.chdir(tmp_path)
    succeed("export", folder, "embeddings.npz", "-q")
    around = {}
    exec(block, around)
    assert around["labels"] == [stored.label_names[label] for label in stored.model.Y[0].indices]
