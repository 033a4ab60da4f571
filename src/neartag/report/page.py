"""The report as one page for people who never heard of P@k: what each part says stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from importlib import resources
from typing import Any

from neartag.core.html_page import make_page
from neartag.core.version import __version__
from neartag.report.evaluation import ASKED, HERE, MODEL
from neartag.report.figures import CUTS, TOP
from neartag.report.labels_section import labels_section
from neartag.report.markup import NOTHING, clean, fold, paragraph, percent, score, table, tiles
from neartag.report.svg import Bar, Mark, draw_plot
from neartag.report.worst_section import worst_section

_FAMILIES = {
    "P": "precision: of the first k labels, how many are right",
    "nDCG": "ranking: the same, but a right label counts more the higher it stands",
    "R": "recall: of a document's right labels, how many are among the first k",
    "PSP": "precision in which rare labels count more, in percent of the best that can be reached",
    "PSnDCG": "ranking in which rare labels count more",
}
_WAYS = {
    ASKED: "the threshold asked for",
    MODEL: "the model's own threshold for the best F1, found in training",
    HERE: "the best threshold for these documents, found by looking at them",
    f"top{TOP}": f"no threshold: the {TOP} best labels of each document",
}


def make_report(report: Mapping[str, Any], model: str, data: str) -> str:
    """Return the page of a report, as `neartag evaluate --json` prints it; model and data are named in its head."""
    parts = [
        ("summary", "", _summary(report, model, data)),
        ("first", "The first labels", _first_labels(report)),
        ("threshold", "Labels above a threshold", _thresholds(report)),
        ("scores", "Can the scores be trusted?", _reliability(report)),
        ("frequency", "Frequent and rare labels", _bands(report)),
        *([("broader", "Near misses", _hierarchy(report))] if report["hierarchical"] else []),
        ("labels", "Label by label", labels_section(report)),
        ("worst", "Where it went most wrong", worst_section(report)),
        ("annif", "For comparison with Annif", _annif(report)),
    ]
    return make_page(f"How good is {_last(model)}?", parts, _read("style.css"), _read("sort.js"))


def _read(name: str) -> str:
    text = resources.files("neartag.report").joinpath(name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as browsers do before they look at it


def _last(path: str) -> str:
    return path.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or path


def _summary(report: Mapping[str, Any], model: str, data: str) -> str:
    cut, documents = report["at_threshold"], report["documents"]
    micro, threshold = cut["micro"], score(report["threshold"]["value"])
    numbers = [
        (f"{percent(report['metrics']['P@1'])}%", "of documents: the label put first is right"),
        (f"{percent(micro['precision'])}%", f"of labels given from a score of {threshold} on are right (precision)"),
        (f"{percent(micro['recall'])}%", "of the right labels are given (recall)"),
        (f"{percent(micro['f1'])}%", "F1: one number between precision and recall"),
    ]
    lines = [
        f"The model answered {report['points']:,} documents whose right labels are known. They have "
        f"{report['labels']:,} different labels, {documents['true_labels_per_document']:.1f} per document.",
        f"From a score of {threshold} on, the model gives {cut['labels_per_document']:.1f} labels per document. "
        f"{_count(documents['exact'], documents['labelled'])} get exactly their labels, "
        f"{_count(documents['none_right'], documents['labelled'])} none of them, and "
        f"{_count(documents['none_given'], documents['labelled'])} no label at all.",
    ]
    if report["points_without_labels"]:
        lines.append(f"{report['points_without_labels']:,} documents have no label at all, so nothing given is right.")
    if report["unknown_labels"]:
        lines.append(
            f"{report['unknown_labels']:,} of the {report['labels']:,} labels are unknown to the model: it cannot find "
            "them, and they count as missed."
        )
    made = f"Model {clean(model)}, data {clean(data)}. Made by neartag {__version__} on {date.today().isoformat()}."
    return f'<p class="soft">{made}</p>' + tiles(numbers) + "".join(map(paragraph, lines))


def _count(some: int, all_of_them: int) -> str:
    return f"{some:,} documents ({100 * some / max(1, all_of_them):.0f}%)"


def _first_labels(report: Mapping[str, Any]) -> str:
    metrics = report["metrics"]
    rows = [
        [f"<b>{name}</b><small>{about}</small>", *(percent(metrics[f"{name}@{k}"]) for k in CUTS)]
        for name, about in _FAMILIES.items()
    ]
    heads = ["figure", *(f"k\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{k}" for k in CUTS)]
    about = (
        "The model puts the labels of each document in order, the best first. This table looks at the first one, three "
        "and five of them, whatever their scores. A document with fewer labels than k cannot reach 100 in precision."
    )
    return paragraph(about) + table("In percent; 100 is the best", heads, rows)


def _thresholds(report: Mapping[str, Any]) -> str:
    source = report["threshold"]["source"]
    about = [
        "Each label has a score. A threshold says from which score on a label is given. A high threshold gives few "
        "labels, most of them right (high precision); a low one finds more of the right ones (high recall) and is "
        f"wrong more often. At most {report['depth']} labels of each document are looked at.",
        f"All figures below this section are for {_WAYS[source]}: {score(report['threshold']['value'])}."
        + (" They are a little too good, because the threshold was chosen on them." if source == HERE else ""),
    ]
    heads = ["labels given from", "score", "labels per document", "precision", "recall", "F1"]
    heads += ["F1, mean over labels", "F1, mean over documents"]
    rows = [
        [
            _WAYS[way["name"]],
            NOTHING if way["threshold"] is None else f"{way['threshold']:.3f}",
            f"{way['labels_per_document']:.1f}",
            *(percent(way["micro"][name]) for name in ("precision", "recall", "f1")),
            percent(way["macro"]["f1"]),
            percent(way["documents"]["f1"]),
        ]
        for way in report["thresholds"]
    ]
    chosen = next((number for number, way in enumerate(report["thresholds"]) if way["name"] == source), None)
    notes = paragraph(
        "Precision, recall and F1 count every given and every right label alike (“micro”). In the mean over labels "
        "(“macro”) a rare label counts as much as a frequent one, so it is usually lower; labels that no document has "
        "and that were never given are left out.",
        "soft",
    )
    shown = table("Precision, recall and F1 in percent", heads, rows, chosen=chosen)
    return "".join(map(paragraph, about)) + shown + notes + _curve(report)


def _curve(report: Mapping[str, Any]) -> str:
    if not report["curve"]:
        return paragraph("The model gave no label a score, so there is no curve.")
    ways = {way["name"]: way for way in report["thresholds"]}
    source = report["threshold"]["source"]
    marks = [
        Mark(f"{name} {score(way['threshold'])}", way["micro"]["recall"] / 100, way["micro"]["precision"] / 100, css)
        for name, css, way in (("best", "best", ways[HERE]), ("threshold", "own", ways[source]))
        if source != HERE or css == "best"
    ]
    if len(marks) == 2 and abs(marks[0].x - marks[1].x) + abs(marks[0].y - marks[1].y) < 0.06:
        marks = [marks[1]._replace(name=f"{marks[1].name}, {marks[0].name}")]
    points = [(each["recall"], each["precision"]) for each in report["curve"]]
    plot = draw_plot(
        "curve",
        "Precision against recall, for all thresholds",
        points,
        "recall, percent",
        "precision, percent",
        marks=marks,
    )
    note = (
        "Each point of the line is a threshold, from strict (left) to generous (right). The higher and the farther to "
        "the right the line runs, the better."
    )
    return f"<figure>{plot}<figcaption>{note}</figcaption></figure>"


def _reliability(report: Mapping[str, Any]) -> str:
    found = report["reliability"]
    bins = found["bins"]
    plot = draw_plot(
        "reliability",
        "How often labels were right, by their score",
        [(each["probability"], each["right"]) for each in bins],
        "score that the model gave, percent",
        "labels that were right, percent",
        bars=[Bar(each["low"], each["high"], each["answers"]) for each in bins],
        diagonal=True,
        dots=True,
    )
    rows = [
        [
            f"{100 * each['low']:.0f} to {100 * each['high']:.0f}",
            f"{each['answers']:,}",
            percent(100 * each["probability"]),
            percent(100 * each["right"]),
        ]
        for each in bins
    ]
    numbers = table("By tenths of the score, in percent", ["score", "labels", "mean score", "right"], rows)
    about = (
        "A score of 0.7 should mean: right in 70 of 100 cases. Points on the dashed line keep that promise. Below the "
        "line the model is too sure of itself, above it too modest. Few labels make a point uncertain: see the bars."
    )
    error = f"The mean distance between score and truth is {100 * found['error']:.1f} percentage points."
    return (
        paragraph(about)
        + f"<figure>{plot}<figcaption>{error}</figcaption></figure>"
        + fold("The numbers behind the plot", numbers)
    )


def _bands(report: Mapping[str, Any]) -> str:
    heads = ["training documents with the label", "labels", "right labels here", "given", "precision", "recall", "F1"]
    rows = []
    for name, band in report["by_frequency_at_threshold"].items():
        all_labels = report["by_frequency"][name]["labels"]
        figures = [percent(band[field]) for field in ("precision", "recall", "f1")]
        rows.append([name, *(f"{count:,.0f}" for count in (all_labels, band["true"], band["given"])), *figures])
    about = (
        "A model learns a label from the training documents that have it. Labels that few documents have are harder. "
        "The table groups labels by how many training documents have them."
    )
    firsts = [
        [name, *(percent(band[f"{family}@{k}"]) for family in ("P", "R", "PSP") for k in CUTS)]
        for name, band in report["by_frequency"].items()
    ]
    more = table(
        "P: what each group adds to precision (the rows add up to it); R: the share of its right labels that is found",
        ["training documents", *(f"{family}@{k}" for family in ("P", "R", "PSP") for k in CUTS)],
        firsts,
    )
    shown = table("At the threshold, in percent", heads, rows)
    return paragraph(about) + shown + fold("The same for the first labels, whatever their scores", more)


def _hierarchy(report: Mapping[str, Any]) -> str:
    names = {"micro": "all labels counted alike", "documents": "mean over documents"}
    rows = []
    for key, about in names.items():
        plain, near = report["at_threshold"][key], report["hierarchical"][key]
        for kind, values in (("exact labels", plain), ("with broader terms", near)):
            rows.append([f"{kind}, {about}", *(percent(values[name]) for name in ("precision", "recall", "f1"))])
    about = (
        "The vocabulary says which terms are broader than others. Here each label stands for itself and all its "
        "broader terms, in the given labels and in the right ones. So a near miss (“dogs” for “poodles”) is partly "
        "right (hierarchical precision, recall and F)."
    )
    return paragraph(about) + table("At the threshold, in percent", ["", "precision", "recall", "F1"], rows)


def _annif(report: Mapping[str, Any]) -> str:
    rows = [
        [name, f"{value:,}" if isinstance(value, int) else f"{value:.4f}"] for name, value in report["annif"].items()
    ]
    about = (
        "Annif is a tool that libraries use to give subjects to texts. These are the figures that its command `annif "
        "eval` prints, for the ten best labels of each document without a threshold, from 0 to 1."
    )
    return paragraph(about) + fold("Annif's figures", table("As Annif names them", ["figure", "value"], rows))
