"""What `neartag review` is worth: labels saved by choosing what to label, and damaged labels found.

    python benchmarks/review.py [choosing] [damage] [--data cooking debian] [--seeds 5] [--features words] [--write]

choosing: from a model of 200 labelled documents, 500 more are labelled, 100 at a time. After each hundred a model is
trained anew on all labelled so far, and chooses the next hundred from the rest of the training part. P@5 is measured on
the test part. Beside it stands the same with documents drawn at random, up to 1,000. --features auto lets each model
choose its features, which it does anew for every model.
damage: of all labels of the training part one in twenty is damaged, half of these removed and half replaced by another
one, drawn by how frequent labels are. A model is trained on the result, and `review_labels` lists what it doubts. The
first 5% of the list are its first entries, 5% as many as there are labels. A removed label is found if it stands there
as missing; a replaced one if it stands there as missing, or the one in its place as wrong. The list of wrong labels and
that of missing ones are also looked at alone (`--doubt`): replaced labels in the first, removed ones in the second.
Two other readings of the same list: 5% of all its entries, many of which are labels that hardly may be missing; and
documents, each at the place of its most doubtful label: how many of the first 5% have a damaged one.

--held-out: a sixth of the training part takes the place of the test part, for choosing how to choose.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pages
from run import machine
from scipy.stats import t as student

from neartag.data import debian, registry
from neartag.data.documents import documents
from neartag.tagging.review_doubts import DoubtfulPairs
from neartag.tagging.review_labels import rank_labels
from neartag.tagging.tagger import TextTagger
from neartag.x1.classifier import X1Classifier

DATA = ("cooking", "debian")
START, STEP, CHOSEN, DRAWN = 200, 100, 500, 1000
DAMAGED_SHARE = 0.05
LISTED = (0.05, 0.10, 0.20)
HEADS = {
    "choosing": (
        "| data | P@5 at the start | 500 chosen | 500 at random | gain | random ones as good as 500 chosen | "
        "chosen ones as good as 500 random |",
        "|---|---|---|---|---|---|---|",
    ),
    "damage": (
        "| data | labels, damaged | found in the first 5% | removed, replaced | in the first 10%, 20% | "
        "replaced, in 5% of the wrong ones | removed, in 5% of the missing ones | in 5% of all entries | "
        "damaged among the first 5% of documents | seconds, one core |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ),
}
Labelled = tuple[list[str], list[list[str]]]  # texts, and the labels of each


def read(name: str, part: str) -> Labelled:
    if name == "debian":
        packages = debian.load(part)
        return [" ".join(words) for words in packages.words], packages.tags
    found = list(documents(registry.text_file(name, part)))
    return [each.text for each in found], [each.labels for each in found]


def split(name: str, seed: int = 12345) -> tuple[Labelled, Labelled]:
    """Return five sixths of the training part, and a sixth in place of the test part; a source's packages together."""
    texts, labels = read(name, "train")
    groups = np.array(debian.load("train").sources) if name == "debian" else np.arange(len(texts))
    every = np.random.default_rng(seed).permutation(np.unique(groups))
    held = np.isin(groups, every[: len(every) // 6])
    return tuple(([texts[i] for i in rows], [labels[i] for i in rows]) for rows in map(np.flatnonzero, (~held, held)))


def fit(texts: list[str], labels: list[list[str]], features: str = "auto") -> TextTagger:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few documents there is much to warn of
        return TextTagger(features, X1Classifier(n_jobs=1)).fit(texts, labels)


def precision(tagger: TextTagger, test: Labelled, k: int = 5) -> float:
    answers = tagger.predict(test[0], k, n_jobs=1, fallback=True)  # P@5 is of five labels, whatever is known
    right = [len({tag.label for tag in tags} & set(own)) for tags, own in zip(answers, test[1], strict=True)]
    return 100 * float(np.mean(right)) / k


def label_more(train: Labelled, test: Labelled, seed: int, choose: bool, features: str) -> list[float]:
    """Return P@5 with START labelled documents, and after each STEP more."""
    rng = np.random.default_rng(seed)
    known = rng.choice(len(train[0]), START, replace=False).tolist()
    curve = []
    while True:
        tagger = fit([train[0][row] for row in known], [train[1][row] for row in known], features)
        curve.append(precision(tagger, test))
        if len(known) >= START + (CHOSEN if choose else DRAWN):
            return curve
        rest = np.setdiff1d(np.arange(len(train[0])), known)
        if choose:
            listed = tagger.review([train[0][row] for row in rest], STEP, n_jobs=1)
            known += [int(rest[entry.index]) for entry in listed]
        else:
            known += rng.choice(rest, STEP, replace=False).tolist()


def choosing(name: str, seeds: range, held_out: bool, features: str) -> dict:
    train, test = split(name) if held_out else (read(name, "train"), read(name, "test"))
    chosen, drawn = [], []
    for seed in seeds:
        chosen.append(label_more(train, test, seed, True, features))
        drawn.append(label_more(train, test, seed, False, features))
        print(name, seed, np.round(chosen[-1], 2), np.round(drawn[-1], 2), flush=True)
    gains = np.array([mine[-1] - other[CHOSEN // STEP] for mine, other in zip(chosen, drawn, strict=True)])
    half = student.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
    return {"chosen": chosen, "random": drawn, "gain": float(gains.mean()), "half interval": float(half)}


Damage = tuple[int, str, str | None]  # document, the label it had, and the one in its place


def damage(labels: list[list[str]], rng: np.random.Generator) -> tuple[list[list[str]], list[Damage]]:
    pairs = [(row, name) for row, own in enumerate(labels) for name in own]
    hit = rng.choice(len(pairs), round(DAMAGED_SHARE * len(pairs)), replace=False)
    changed, done = [list(own) for own in labels], []
    for number, place in enumerate(hit.tolist()):
        row, name = pairs[place]
        new = None
        while number % 2 and (new is None or new in labels[row] or new in changed[row]):
            new = pairs[int(rng.integers(len(pairs)))][1]  # as frequent ones are drawn as often
        changed[row].remove(name)
        changed[row] += [] if new is None else [new]
        done.append((row, name, new))
    return changed, done


def is_found(each: Damage, listed: set) -> bool:
    row, name, new = each
    return (row, name, "missing") in listed or (row, new, "wrong") in listed


def list_pairs(ranked: DoubtfulPairs, names: list[str], most: int) -> list[tuple[int, str, str]]:
    rows, labels, is_missing = (each[:most].tolist() for each in ranked[:3])
    kinds = ["missing" if each else "wrong" for each in is_missing]
    return list(zip(rows, [names[label] for label in labels], kinds, strict=True))


def share_found(some: list[Damage], listed: list) -> float:
    entries = set(listed)
    return 100 * float(np.mean([is_found(each, entries) for each in some]))


def damaged_first(ranked: DoubtfulPairs, done: list[Damage], count: int) -> float:
    """Return how many of the first documents have a damaged label, in %; each stands where its first label does."""
    first = list(dict.fromkeys(ranked.documents.tolist()))[:count]
    return 100 * len({row for row, *_ in done} & set(first)) / count


def find_damage(name: str, seeds: range, folds: int) -> dict:
    texts, labels = read(name, "train")
    n_labels = sum(map(len, labels))
    shares, seconds = [], []
    for seed in seeds:
        changed, done = damage(labels, np.random.default_rng(seed))
        tagger = fit(texts, changed)
        begun = time.perf_counter()
        ranked, names = rank_labels(tagger.stored, folds=folds, n_jobs=1).ranked, tagger.labels
        seconds.append(time.perf_counter() - begun)
        both, wrong, missing = (
            list_pairs(ranked.of_kind(kind), names, round(max(LISTED) * n_labels))
            for kind in (None, "wrong", "missing")
        )
        groups = {"all": done, "removed": [d for d in done if d[2] is None], "replaced": [d for d in done if d[2]]}
        shares.append({})
        for share in LISTED:
            first = round(share * n_labels)
            for kind, some in groups.items():
                shares[-1][f"{kind} in {share:.0%}"] = share_found(some, both[:first])
            shares[-1][f"replaced in {share:.0%} of wrong"] = share_found(groups["replaced"], wrong[:first])
            shares[-1][f"removed in {share:.0%} of missing"] = share_found(groups["removed"], missing[:first])
        every = list_pairs(ranked, names, round(min(LISTED) * len(ranked.documents)))
        shares[-1]["all in 5% of entries"] = share_found(done, every)
        shares[-1]["damaged in 5% of documents"] = damaged_first(ranked, done, round(min(LISTED) * len(texts)))
        print(name, seed, {key: round(value, 1) for key, value in shares[-1].items()}, seconds[-1], flush=True)
    means = {key: float(np.mean([each[key] for each in shares])) for key in shares[0]}
    damaged = round(DAMAGED_SHARE * n_labels)
    return {
        "documents": len(texts),
        "labels": n_labels,
        "damaged": damaged,
        "found": means,
        "runs": shares,
        "s": seconds,
    }


def labels_for(curve: np.ndarray, wanted: float) -> str:
    """Return how many labelled documents the mean curve (steps,) needs to reach a precision, between two steps."""
    above = np.flatnonzero(curve >= wanted)
    if not len(above):
        return f"more than {STEP * (len(curve) - 1):,}"
    place = int(above[0])
    part = (wanted - curve[place - 1]) / (curve[place] - curve[place - 1]) if place else 0.0
    return f"{STEP * (place - 1 + part) if place else 0:,.0f}"


def table(results: dict) -> str:
    lines = [*HEADS["choosing"]] if results.get("choosing") else []
    for name, each in results.get("choosing", {}).items():
        mine, other = np.mean(each["chosen"], axis=0), np.mean(each["random"], axis=0)
        level, half = other[CHOSEN // STEP], each["half interval"]
        lines.append(
            f"| {name} | {mine[0]:.2f} | {mine[-1]:.2f} | {level:.2f} | **{each['gain']:+.2f}** ± {half:.2f} | "
            f"{labels_for(other, mine[-1])} | {labels_for(mine, level)} |"
        )
    lines += ["", *HEADS["damage"]] if results.get("damage") else []
    for name, each in results.get("damage", {}).items():
        found = each["found"]
        lines.append(
            f"| {name} | {each['labels']:,}, {each['damaged']:,} | **{found['all in 5%']:.1f}%** | "
            f"{found['removed in 5%']:.1f}%, {found['replaced in 5%']:.1f}% | {found['all in 10%']:.1f}%, "
            f"{found['all in 20%']:.1f}% | {found['replaced in 5% of wrong']:.1f}% | "
            f"{found['removed in 5% of missing']:.1f}% | {found['all in 5% of entries']:.1f}% | "
            f"{found['damaged in 5% of documents']:.1f}% | {np.mean(each['s']):.0f} |"
        )
    return "\n".join([*lines, "", f"Measured on: {machine()}."])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["choosing", "damage"])
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--features", default="words")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    results = pages.kept("review")
    for name in given.data:
        if "choosing" in given.parts:
            key = f"{name}, {'features as chosen' if given.features == 'auto' else given.features}"
            results.setdefault("choosing", {})[key] = choosing(name, seeds, given.held_out, given.features)
        if "damage" in given.parts:
            results.setdefault("damage", {})[name] = find_damage(name, seeds, given.folds)
    print(table(results))
    if given.write:
        pages.keep("review", results)
        pages.insert("review", table(results))


if __name__ == "__main__":
    main()
