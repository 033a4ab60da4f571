"""A model card: what a model is, what it learned from, how good it is and where it fails, as one Markdown file.

The head is YAML as Hugging Face's hub reads it (README.md of a repository); the body is for people. Everything comes
from the model itself, or from a file that `neartag evaluate --json` wrote: nothing is claimed that was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neartag.encoders.sentence_models.base import Identity
from neartag.methods import registry
from neartag.report.card_facts import RARE
from neartag.report.card_front import make_front
from neartag.report.card_text import clean, escape, table


@dataclass(frozen=True)
class CardOptions:
    """What a model cannot know about itself."""

    name: str  # of the model, as people will know it
    licence: str = ""  # an identifier of the hub, such as "mit"
    dataset: str = ""  # the name of the data that it learned from
    repository: str = ""  # where it can be pulled from


def make_card(facts: Mapping[str, Any], options: CardOptions, figures: Mapping[str, Any] | None = None) -> str:
    """Return the card.

    `facts` are those of `neartag inspect --json`, with `card_facts.describe_contents`; `figures` those of
    `neartag evaluate --json`, or None.
    """
    sections = [
        _head(facts, options),
        _use(facts, options),
        _data(facts, options),
        _quality(facts, figures),
        _limits(facts),
        _making(facts),
    ]
    body = "\n\n".join(section for section in sections if section)
    return f"{make_front(facts, options, figures)}\n\n{body}\n"


def _things(facts: Mapping[str, Any]) -> str:
    return "documents" if facts["trained_on_texts"] else "points"


def _head(facts: Mapping[str, Any], options: CardOptions) -> str:
    given = "texts" if facts["trained_on_texts"] else "rows of features"
    return (
        f"# {escape(options.name)}\n\n"
        f"Gives {given} the few right labels out of {facts['labels']:,}, each with a score and with the "
        f"{_things(facts)} that speak for it. Made with neartag {escape(facts['neartag_version'])}, method "
        f"{escape(registry.get(facts['kind']).title)}{', refined' if facts.get('refinement') else ''}."
    )


def _use(facts: Mapping[str, Any], options: CardOptions) -> str:
    folder = "model"
    pull = f"neartag pull {clean(options.repository)} {folder} --expect-digest {facts['digest'][:16]}\n"
    shell = f"pip install neartag\n{pull if options.repository else ''}"
    if not facts["trained_on_texts"]:
        return f"## Use it\n\n```\n{shell}neartag predict {folder} DATA\n```"
    return (
        f'## Use it\n\n```\n{shell}neartag tag {folder} "a text"\nneartag explain {folder} "a text"\n```\n\n'
        "```python\nfrom neartag import TextTagger\n\n"
        f'tagger = TextTagger.load("{folder}")\ntags = tagger.predict(["a text"], k=5)[0]\n```\n\n'
        "Loading runs no code from the folder: it holds JSON and safetensors only, each file with its checksum."
    )


def _data(facts: Mapping[str, Any], options: CardOptions) -> str:
    things, counts, vocabulary = _things(facts), facts["label_counts"], facts["vocabulary"]
    source = f" of {escape(options.dataset)}" if options.dataset else ""
    parts = [f"## What it learned from\n\n{facts['points']:,} {things}{source}, with {facts['labels']:,} labels."]
    if counts is not None:
        parts[0] += (
            f" Half of the labels have at most {counts['median']:,.0f} {things}; {counts['rare']:,} have fewer "
            f"than {RARE}. The most frequent:"
        )
        rows = [[escape(label), f"{count:,}"] for label, count in counts["most_frequent"]]
        parts.append(table(["label", things], rows))
    if vocabulary is not None:
        languages = ", ".join(map(escape, vocabulary["languages"])) or "not told"
        new = "refused" if vocabulary["closed"] else "allowed"
        parts.append(
            f"Its vocabulary has {vocabulary['concepts']:,} concepts (languages of names: {languages}); labels outside "
            f"it are {new}."
        )
    held = [what for what, there in (("texts", facts["holds_texts"]), ("ids", facts["holds_ids"])) if there]
    if held:
        parts.append(
            f"**The folder holds the {' and the '.join(held)} of these {things}:** whoever has it can read them."
        )
    return "\n\n".join(parts)


def _quality(facts: Mapping[str, Any], figures: Mapping[str, Any] | None) -> str:
    things, calibration = _things(facts), facts.get("calibration")
    parts = ["## How good it is"]
    if calibration is None and figures is None:
        parts.append("Not measured: nothing was held out of training, and no test figures were given.")
    if calibration is not None:
        cuts = [("best F1", calibration["best_f1"])]
        cuts += [
            (f"precision {100 * float(wish):g}%", cut)
            for wish, cut in calibration["for_precision"].items()
            if cut is not None
        ]
        names = ("threshold", "precision", "recall", "f1")
        rows = [
            [wish, f"{cut['threshold']:.3f}", *(f"{100 * cut[name]:.1f}%" for name in names[1:])] for wish, cut in cuts
        ]
        parts.append(
            f"On {calibration['points']:,} {things} held out of training, by the score from which labels count:"
        )
        parts.append(table(["wish", *names], rows, 4))
        parts.append(_calibration(calibration))
    if figures is not None:
        parts.append(f"On {figures['points']:,} test {things} (`neartag evaluate`), in percent:")
        families = ("P", "nDCG", "PSP", "R")
        rows = [[name, *(f"{figures['metrics'][f'{name}@{k}']:.2f}" for k in (1, 3, 5))] for name in families]
        parts.append(table(["figure", "@1", "@3", "@5"], rows, 3))
    return "\n\n".join(parts)


def _calibration(calibration: Mapping[str, Any]) -> str:
    rows = [
        [f"{100 * each['low']:.0f}–{100 * each['high']:.0f}%", f"{each['answers']:,}", *_percentages(each)]
        for each in calibration["bins"]
    ]
    said = (
        f"Scores are probabilities ({calibration['kind']}), off by {100 * calibration['error']:.1f} percentage points "
        f"on average (Brier {calibration['brier']:.3f}):"
    )
    return f"{said}\n\n{table(['score', 'answers', 'mean score', 'right'], rows, 3)}"


def _percentages(each: Mapping[str, float]) -> list[str]:
    return [f"{100 * each[name]:.1f}%" for name in ("probability", "right")]


def _limits(facts: Mapping[str, Any]) -> str:
    things, counts, drift = _things(facts), facts["label_counts"], facts.get("drift")
    limits = ["It answers only with labels that it has seen; a label that nobody gave it cannot be found."]
    if counts is not None and counts["rare"]:
        limits.append(f"{counts['rare']:,} labels have fewer than {RARE} {things}: expect them to be missed.")
    if facts["trained_on_texts"]:
        limits.append("A text of which it knows no word gets no label, and is said to be unknown (`found`).")
    if facts.get("calibration") is None:
        limits.append("Its scores are not calibrated: they rank labels, and are no probabilities.")
    else:
        limits.append("Scores hold for texts like those that it learned from; on others they may be off by more.")
    if facts.get("encoders") and not facts["bundles_encoder"]:
        limits.append("It needs its sentence encoder, which is not in the folder.")
    if drift is not None and (drift["added"] or drift["forgotten"]):
        limits.append(
            f"Since training {drift['added']:,} {things} were added and {drift['forgotten']:,} forgotten; "
            f"train again: {escape(drift['retrain'] or 'not needed')}."
        )
    limits.append(
        "It repeats what people gave before, with their habits and mistakes: let a person decide what matters."
    )
    return "## Limits\n\n" + "\n".join(f"- {limit}" for limit in limits)


def _making(facts: Mapping[str, Any]) -> str:
    choice = facts.get("feature_choice")
    rows = [("digest", f"`{facts['digest']}`"), ("features", f"{facts['features']:,}")]
    if choice is not None:
        rows.append(("chosen features", escape(choice["message"])))
    rows += [
        ("sentence encoder", f"{escape(Identity.from_json(each).describe())}, digest `{clean(each['digest'])}`")
        for each in facts.get("encoders", [])
    ]
    rows += [("folder format", str(facts["format_version"])), ("bytes", f"{facts['bytes']:,}")]
    defaults = {parameter.name: parameter.default for parameter in registry.get(facts["kind"]).parameters}
    changed = {name: value for name, value in facts["parameters"].items() if defaults.get(name, value) != value}
    if changed:
        rows.append(("settings", escape(", ".join(f"{name}={value}" for name, value in changed.items()))))
    return f"## How it was made\n\n{table(['what', 'value'], rows, 0)}"
