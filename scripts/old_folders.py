"""How the model folders under tests/storage/folders were made, by neartag 0.1.0 in format version 2.

    python scripts/old_folders.py [tests/storage/folders]

They are kept as files because a later version cannot write them: it must read them, answer the same and take documents
that are added. tests/storage/test_old_folders.py holds it to expected.json, which stands beside them and has for each
folder what is asked, what this version answers, and what it answers once two documents are added.

    votes    plain votes of short texts, calibrated, texts kept
    refined  rankers decide, and are stored
    added    refined; documents of a new label were added, some then forgotten, and others added again: a file of those
    leml     a comparator, which takes no additions
    vectors  vectors of the user's own in the place of texts
    int8     two clusters in each of two learners, weights and points stored in bytes

Texts are made up of few words, and models have few dimensions, so that the files are small. What is asked is chosen so
that no two answers stand so near to each other that another machine's rounding could change their order.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from neartag import LiveTagger, TextTagger, VectorFeatures, X1Classifier

PLACE = Path(__file__).parent.parent / "tests" / "storage" / "folders"
# Labels, by their subject, and the words that speak for each.
SUBJECTS = {
    "garden": {
        "roses": "rose thorn bloom prune",
        "vegetables": "tomato bean carrot harvest",
        "soil": "compost dig earth worm",
    },
    "kitchen": {
        "bread": "flour yeast dough bake",
        "soup": "broth onion simmer ladle",
        "dessert": "sugar cream vanilla cake",
    },
    "cycling": {
        "repair": "chain tube patch wrench",
        "touring": "route map tent valley",
        "racing": "sprint lap team climb",
    },
    "music": {
        "piano": "key pedal scale sonata",
        "choir": "voice hymn alto tenor",
        "guitar": "string chord fret strum",
    },
}
ANYWHERE = ["for", "with", "new", "old", "how", "small", "best", "day", "book", "good"]
DIM = 6  # numbers of a vector
K = 4
GAP = 1e-3  # by which a score must be above the next, relatively
SMALL = {"embedding_dim": 8, "svp_neighbours": 20, "n_jobs": 2, "vote_neighbours": 20, "vote_sharpness": 2.0}
NEW = "astronomy"  # a label that no model was trained on


def documents(count: int, seed: int) -> list[dict[str, Any]]:
    """Return short texts, no two alike, with their labels: a subject, one or two labels of it, sometimes another."""
    draw = random.Random(seed)
    made: dict[str, list[str]] = {}
    while len(made) < count:
        subject = draw.choice(sorted(SUBJECTS))
        labels = draw.sample(sorted(SUBJECTS[subject]), draw.choice((1, 1, 2)))
        words = [word for label in labels for word in draw.sample(SUBJECTS[subject][label].split(), 2)]
        words += draw.sample(ANYWHERE, draw.choice((1, 2)))
        draw.shuffle(words)
        also = [draw.choice(("beginners", "outdoors"))] if draw.random() < 0.3 else []
        # People forget labels: where all voters agreed, a share would be 1 but for rounding, which rankers would weigh.
        kept = [label for label in (subject, *labels) if draw.random() < 0.75]
        made.setdefault(" ".join(words), [*(kept or [subject]), *also])
    return [{"id": f"d{number}", "text": text, "labels": labels} for number, (text, labels) in enumerate(made.items())]


def of_stars(first: int, count: int, seed: int) -> list[dict[str, Any]]:
    """Return documents of the new label."""
    draw = random.Random(seed)
    words = ["map", "valley", "voice", "scale", "new", "old", "day"]
    return [
        {"id": f"star{number}", "text": " ".join(draw.sample(words, 4)), "labels": [NEW, "outdoors"]}
        for number in range(first, first + count)
    ]


def with_vectors(found: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return the documents with a vector each in the place of the text: the sum of its words' vectors, and noise."""
    draw = random.Random(seed)
    words = sorted({word for each in documents(2000, 1) for word in each["text"].split()})
    vector_of = {word: [draw.gauss(0, 1) for _ in range(DIM)] for word in words}
    vectors = []
    for each in found:
        own = [vector_of[word] for word in each["text"].split()]
        vectors.append([round(sum(numbers) + draw.gauss(0, 0.3), 3) for numbers in zip(*own, strict=True)])
    return [{**each, "text": vector} for each, vector in zip(found, vectors, strict=True)]


def columns(found: list[dict[str, Any]]) -> list[list[Any]]:
    """Return the documents as TextTagger takes them: texts, labels and ids."""
    return [[each[name] for each in found] for name in ("text", "labels", "id")]


def run(*words: str) -> None:
    """Run the command line."""
    subprocess.run([sys.executable, "-m", "neartag", *words, "-q"], check=True, stdout=subprocess.DEVNULL)


def write_lines(path: Path, found: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    return str(path)


def write_folders(place: Path, scratch: Path) -> None:
    learned = documents(320, 1)
    classifier = X1Classifier(refine=False, **SMALL)
    # Held-out points, of which there must be some for calibrated scores, are a tenth of the documents.
    TextTagger(classifier=classifier, calibration="platt").fit(*columns(documents(520, 1))).save(place / "votes")

    refined = X1Classifier(refine=True, refine_least=0.1, **SMALL)
    TextTagger(classifier=refined, calibration=None).fit(*columns(learned)).save(place / "refined")

    shutil.copytree(place / "refined", place / "added")
    folder = str(place / "added")
    run("add", folder, write_lines(scratch / "more.jsonl", [*of_stars(0, 8, 2), *documents(325, 1)[320:]]))
    LiveTagger(place / "added").forget(["d3", "d200", "star1", "d321"])
    run("add", folder, write_lines(scratch / "again.jsonl", of_stars(20, 3, 3)))

    options = ("--method", "leml", "--rank", "6", "--n-jobs", "2")
    run("train", write_lines(scratch / "docs.jsonl", learned[:150]), str(place / "leml"), *options)

    tagger = TextTagger(VectorFeatures(), X1Classifier(refine=True, **SMALL), calibration=None)
    tagger.fit(*columns(with_vectors(learned, 4))).save(place / "vectors")

    clusters = X1Classifier(refine=False, precision="int8", n_clusters=2, n_learners=2, n_probe=2, **SMALL)
    TextTagger(classifier=clusters, calibration=None).fit(*columns(learned[:200])).save(place / "int8")


def expected(folder: Path) -> dict[str, Any]:
    """Return what is asked of a folder's model, and what it answers."""
    tagger = TextTagger.load(folder)
    fresh = documents(420, 1)[400:]
    more = [{"id": "one more", "text": "rose tent scale", "labels": ["roses", NEW]}, {**fresh[0], "id": "and another"}]
    if folder.name == "vectors":
        fresh, more = with_vectors(fresh, 4), with_vectors(more, 4)
    texts = [each["text"] for each in fresh[1:]] + ([] if folder.name == "vectors" else ["", "zzz qqq"])
    texts = [text for text in texts if apart(tagger, text)][:8]
    found: dict[str, Any] = {
        "labels": tagger.labels,
        "points": len(tagger),
        **answers(tagger, texts),
    }
    if folder.name == "leml":
        return found
    for text in texts:
        reasons = tagger.explain(text, 2, 3, 4)
        shares = [[voter.share for voter in reason.voters] for reason in reasons]
        if all(map(falling, shares)) and all(falling([abs(each.weight) for each in why.words]) for why in reasons):
            found["reasons"] = {"text": text, "labels": reasons}
            break
    tagger.add(*columns(more))
    asked = [text for text in [*texts[:4], more[0]["text"]] if apart(tagger, text)]
    found["added"] = {"documents": more, "labels": tagger.labels, **answers(tagger, asked)}
    return found


def answers(tagger: TextTagger, texts: list[Any]) -> dict[str, Any]:
    """Return the tags of texts asked all at once, and of each asked by itself, which rounds otherwise."""
    alone = [tagger.predict([text], K)[0] for text in texts]
    return {"texts": texts, "tags": tagger.predict(texts, K), "tags_alone": alone}


def apart(tagger: TextTagger, text: Any) -> bool:
    """Return whether the best labels of a text, and the one after them, stand apart."""
    return falling([tag.score for tag in tagger.predict([text], K + 1)[0]])


def falling(values: list[float]) -> bool:
    return all(high > low * (1 + GAP) + 1e-6 for high, low in pairwise(values))


def main() -> None:
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        write_folders(place, Path(scratch))
    folders = sorted(folder for folder in place.iterdir() if folder.is_dir())
    content = {folder.name: expected(folder) for folder in folders}
    for folder in folders:
        (folder / ".lock").unlink(missing_ok=True)
        print(f"{folder.name}: {sum(path.stat().st_size for path in folder.iterdir()):,} bytes")
    (place / "expected.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
