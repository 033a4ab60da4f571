"""Model cards: the hub's own client reads their head, and nothing in a name can break out of its place."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cli_helpers import fail, invoke, succeed
from neartag.cli.card import CARD, write_card
from neartag.report.card import CardOptions
from neartag.report.card_text import clean, escape, front_matter, table
from neartag.storage import store
from serve_helpers import train

HOSTILE = "a | b\n---\n<script>x</script> [l](javascript:y) `c` \x07\x85\ud800 #1: *z*"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cards") / "packages"
    train().save(place)
    return place


@pytest.fixture(scope="module")
def stored(folder):
    return store.load(folder)


@pytest.fixture(scope="module")
def read_card():
    """Return a card as the hub's client reads it."""
    return pytest.importorskip("huggingface_hub").ModelCard


def test_the_hub_reads_its_head(stored, read_card):
    card = read_card(write_card(stored, CardOptions("packages", "mit", "debian/packages")))
    assert card.data.library_name == "neartag"
    assert card.data.license == "mit"
    assert card.data.datasets == ["debian/packages"]
    assert "x1" in card.data.tags
    best = stored.extras["calibration"]["best_f1"]
    results = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert results == {name: round(best[name], 4) for name in ("f1", "precision", "recall")}


def test_it_tells_what_the_model_knows(stored):
    card = write_card(stored, CardOptions("packages"))
    model = stored.model
    assert f"{model.n_points:,} documents, with {model.n_labels:,} labels" in card
    top = int(model.frequency.argmax())
    assert f"| {escape(stored.label_names[top])} | {model.frequency[top]:,} |" in card
    assert stored.info["digest"] in card
    assert "holds the texts and the ids of these documents" in card
    assert "license" not in card.split("---")[1]
    assert "neartag pull" not in card


def test_what_is_not_in_the_folder_is_not_said_to_be(stored):
    card = write_card(replace(stored, texts=None, point_names=None, extras={}), CardOptions("packages"))
    assert "The folder holds" not in card
    assert "Not measured" in card
    assert "not calibrated" in card
    assert "model-index" not in card


def test_names_cannot_break_out(stored, read_card):
    labels = [f"{HOSTILE} {number}" for number in range(stored.model.n_labels)]
    options = CardOptions(HOSTILE, HOSTILE, HOSTILE)
    text = write_card(replace(stored, label_names=labels), options)
    card = read_card(text)
    assert card.data.license == clean(HOSTILE)
    assert card.data.model_name == clean(HOSTILE)
    assert "<script>" not in card.text.replace(r"\<", "")
    assert "\ud800" not in text  # half of a pair, which no file can hold
    rows = [line for line in card.text.splitlines() if "javascript" in line and line.startswith("| ")]
    assert rows
    assert all(line.replace(r"\|", "").count("|") == 3 for line in rows)


def test_the_head_is_yaml_that_says_what_was_given():
    yaml = pytest.importorskip("yaml")
    values = {"a": [{"b": "c: d", "e": [1, 2.5]}, {"f": {"g": "no"}}], "h": {}, "i": [], "j": "# x", "k": None}
    text = front_matter(values)
    assert yaml.safe_load(text.removeprefix("---\n").removesuffix("\n---")) == values


def test_tables_align_numbers():
    assert table(["a", "b"], [["x", "1"]]).splitlines()[1] == "| --- | ---: |"


def test_the_command_writes_it_once(folder):
    place = folder / CARD
    invoke("card", folder, "--quiet")
    assert place.read_text(encoding="utf-8").startswith("---\nlibrary_name")
    assert "--overwrite" in fail("card", folder)
    succeed("card", folder, "--overwrite", "--name", "other", "--quiet")
    assert "# other" in place.read_text(encoding="utf-8")
    assert succeed("card", folder, "-o", "-", "--name", "other", "-q") == place.read_text(encoding="utf-8")
    store.load(folder)  # the card is no part of the model, and does not disturb it


def test_test_figures_are_those_of_this_model(folder, tmp_path):
    metrics = {f"{family}@{k}": 10.0 * k for family in ("P", "nDCG", "PSP", "R") for k in (1, 3, 5)}
    figures = {"digest": store.inspect(folder)["digest"], "points": 77, "metrics": metrics}
    file = tmp_path / "figures.json"
    file.write_text(json.dumps(figures))
    card = succeed("card", folder, "-o", "-", "--figures", file, "-q")
    assert "On 77 test documents" in card
    assert "| P | 10.00 | 30.00 | 50.00 |" in card
    file.write_text(json.dumps({**figures, "digest": "0" * 64}))
    assert "another model" in fail("card", folder, "-o", "-", "--figures", file, "-q")
    file.write_text(json.dumps({**figures, "metrics": {"P@1": 1}}))
    assert "has no figures" in fail("card", folder, "-o", "-", "--figures", file, "-q")
