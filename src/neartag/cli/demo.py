"""`neartag demo`: X1 learns Debian's package tags, its answers are measured, and it tags sentences."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from neartag.cli import output
from neartag.cli.demo_run import METRICS, run_demo
from neartag.cli.model_folder import check_target
from neartag.cli.options import AsJson, Quiet

PRESET = "debian"
FOLDER = "demo-model"
N_WORDS = 2  # shown of each tag
SENTENCES = (
    "edit photos and convert raw images from a camera",
    "monitor network traffic by host",
    "play chess against the computer",
    "python library for reading json",
)
WORDS_ALONE = (
    "To be quick, words alone are counted here. neartag train debian MODEL tries word pairs and runs of characters too."
)
NEXT_COMMANDS = (
    ("The model is in", "{model}"),
    ("Tag your own words:", '{neartag} tag {model} "draw a map of the stars"'),
    ("Ask why:", '{neartag} explain {model} "draw a map of the stars"'),
    ("See it in the browser:", "{neartag} serve {model}   and open http://127.0.0.1:8000"),
    ("Measure it:", "{neartag} evaluate {model} debian"),
    ("Look inside:", "{neartag} inspect {model}"),
    ("Train your own:", "{neartag} train DATA MODEL   ({neartag} train --help)"),
)


def demo(
    model: Annotated[
        str | None, typer.Option(metavar="FOLDER", help=f"Folder to save the model in.  [default: {FOLDER}]")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Take a sixth of the packages: faster, and worse results."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is in FOLDER.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn the tags of Debian's packages, and tag sentences.

    Packages and tags come with neartag. X1 is measured on packages that it has not seen, beside three simpler methods:
    the most frequent tags, plain nearest neighbours and linear ridge regression. It takes about a minute.

    To be quick, all of them count words alone; neartag train tries word pairs and runs of characters too.
    """
    # Without --model the folder is the demo's own and may be replaced: the demo can be repeated.
    folder = FOLDER if model is None else model
    check_target(folder, overwrite or model is None)

    from neartag.methods import presets

    settings = presets.get(PRESET)
    output.message("learning which tags people gave to Debian's packages…", quiet=quiet or as_json)
    report = run_demo(settings, folder, SENTENCES, quick=quick, progress=output.progress(quiet))
    if as_json:
        output.show_json(report)
    else:
        show(report)


def show(report: dict[str, Any]) -> None:
    """Print the measurements, the sentences with their tags, and what to try next."""
    packages, results = report["packages"], report["results"]
    title = (
        f"{report['release']}: tags of {packages['test']:,} packages, learned from {packages['train']:,} others "
        f"({report['words']:,} words, {report['tags']} tags)"
    )
    rows = [[r["method"], *(f"{r[metric]:.1f}" for metric in METRICS), f"{r['seconds']:.1f}"] for r in results]
    output.show_table(["percent", *METRICS, "seconds"], rows, title=title, strong=len(rows) - 1)
    output.show_words(WORDS_ALONE)
    for example in report["examples"]:
        rows = [
            [
                label["label"],
                f"{100 * label['score']:.0f}%",
                ", ".join(f"{each['word']} {each['weight']:+.2f}" for each in label["words"][:N_WORDS]),
                ", ".join(f"{voter['name']} {100 * voter['share']:.0f}%" for voter in label["voters"]),
            ]
            for label in example["labels"]
        ]
        print()
        headings = ["tag", "score", "words that counted", "packages that voted for it"]
        output.show_table(headings, rows, title=f"“{example['text']}”", words=(0, 2, 3))
    print()
    output.show_pairs(
        [(about, command.format(model=report["model"], neartag=_own_name())) for about, command in NEXT_COMMANDS]
    )


def _own_name() -> str:
    """Return how to type the command here: its name, or its path where that is not on the search path."""
    called = Path(sys.argv[0])
    return os.path.relpath(called) if called.name == "neartag" and not shutil.which("neartag") else "neartag"
