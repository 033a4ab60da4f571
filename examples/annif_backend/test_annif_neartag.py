"""The backend in a real Annif: its own commands, a vocabulary, training, suggesting, learning and evaluating."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("annif", reason="needs Annif: make test-annif")

HERE = Path(__file__).parent
SUBJECTS = {
    "bread": "bake flour yeast oven loaf",
    "bicycles": "wheel gears pedal ride chain",
    "roses": "prune garden thorn",
}
PROJECT = """[neartag-en]
name=neartag
language=en
backend=neartag
analyzer=snowball(english)
vocab=tiny
limit=5
allow_learn=true
embedding_dim=10
feature_share=0.5
"""


def uri(name: str) -> str:
    return f"http://example.org/{name}"


def lines(names: list[str], count: int, seed: int) -> str:
    """Return documents as Annif's TSV corpora have them: a text, a tab, URIs."""
    chance, found = random.Random(seed), []
    words = {**SUBJECTS, "tandems": "tandem two riders wheel gears"}
    for number in range(count):
        name = names[number % len(names)]
        text = " ".join(chance.choices(words[name].split(), k=6))
        found.append(f"{text} {chance.choice(['today', 'slowly', 'again'])}\t<{uri(name)}>")
    return "\n".join(found) + "\n"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("annif")
    (folder / "projects.cfg").write_text(PROJECT)
    names = [*SUBJECTS, "tandems"]
    (folder / "vocab.tsv").write_text("".join(f"<{uri(name)}>\t{name}\n" for name in names))
    (folder / "train.tsv").write_text(lines(list(SUBJECTS), 240, 0))
    (folder / "test.tsv").write_text(lines(list(SUBJECTS), 60, 1))
    (folder / "new.tsv").write_text(lines(["tandems"], 5, 2))
    annif(folder, "load-vocab", "--language", "en", "tiny", "vocab.tsv")
    annif(folder, "train", "neartag-en", "train.tsv")
    return folder


# Annif cuts texts into sentences before words, with a model that it downloads when it is installed by hand. Where that
# is not there, words are cut without sentences first; nothing else of Annif is changed.
WITHOUT_SENTENCES = """
import functools, runpy, sys
import nltk.tokenize
try:
    nltk.data.find("tokenizers/punkt_tab")
except LookupError:
    nltk.tokenize.word_tokenize = functools.partial(nltk.tokenize.word_tokenize, preserve_line=True)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def annif(folder: Path, *arguments: str, stdin: str = "") -> str:
    command = [sys.executable, "-c", WITHOUT_SENTENCES, str(HERE / "annif_neartag.py"), *arguments]
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_suggests(workplace):
    first = annif(workplace, "suggest", "neartag-en", stdin="riding with new gears and a chain").splitlines()[0]
    assert "bicycles" in first


def test_it_is_evaluated(workplace):
    measured = annif(workplace, "eval", "neartag-en", "test.tsv")
    precision = next(float(line.split(":")[1]) for line in measured.splitlines() if line.startswith("Precision@1:"))
    assert precision > 0.9


def test_it_learns_a_subject_that_nobody_had(workplace):
    text = "a tandem for two riders, with new gears on each wheel"
    assert "tandems" not in annif(workplace, "suggest", "neartag-en", stdin=text)
    annif(workplace, "learn", "neartag-en", "new.tsv")
    assert "tandems" in annif(workplace, "suggest", "neartag-en", stdin=text)


def test_a_sentence_encoder_reads_the_texts_themselves(workplace):
    pytest.importorskip("tokenizers", reason="sentence encoders need tokenizers")
    sys.path.insert(0, str(HERE.parents[1] / "tests"))
    from sentence_helpers import make_static

    encoder = make_static(workplace / "encoder")
    other = PROJECT.replace("neartag-en", "meaning-en") + f"encoder={encoder}\n"
    (workplace / "projects.cfg").write_text(PROJECT + other)
    # The encoder knows "dough" and "engine", which no document has.
    texts = {"bread": "bread teig today", "bicycles": "engine wagen again"}
    lines = [f"{texts[name]}\t<{uri(name)}>" for name in texts for _ in range(30)]
    (workplace / "meaning.tsv").write_text("\n".join(lines) + "\n")
    annif(workplace, "train", "meaning-en", "meaning.tsv")
    assert "bread" in annif(workplace, "suggest", "meaning-en", stdin="Leipä ja taikina").splitlines()[0]
    assert "bicycles" in annif(workplace, "suggest", "meaning-en", stdin="auto").splitlines()[0]
