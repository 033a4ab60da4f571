"""`neartag inspect`: what a model folder holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neartag.cli import inspect_report, output
from neartag.cli.options import AsJson, Model, Quiet
from neartag.cli.trust_options import Trust, with_trust
from neartag.core.method import resolve
from neartag.encoders.feature_kinds import FeatureChoice
from neartag.encoders.languages import LANGUAGES
from neartag.methods import registry

if TYPE_CHECKING:
    from neartag.storage.bundle import StoredModel


@with_trust
def inspect(
    model: Model,
    whole: Annotated[bool, typer.Option("--all", help="Also parameters, clusters and files.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    trust: Trust,
) -> None:
    """Print what a model is, how good it is, and whether to train it again; with --all, everything about it.

    Every file is first compared with its checksum. How good: on documents held out of training, the best F1 that a
    threshold gave, and how far scores are off. With --all: "unexplained" is the share of a cluster's label graph that
    the embeddings do not reproduce. If it is large, more dimensions (--embedding-dim) or smaller clusters may help.

    For a model of documents it also prints how far the model has drifted: what was added and forgotten since training,
    and how well the embeddings tell the labels of old and new documents (0% is perfect). And it prints how far to trust
    the scores.
    """
    from neartag.storage import store

    with output.progress(quiet).start(None, f"loading {model}"):
        report = {**describe(store.load(model, trust=trust)), "written": find_time(model)}
    if as_json:
        output.show_json(report)
    else:
        inspect_report.show(model, report, whole=whole)
    if not whole:
        output.suggest(
            f"neartag inspect {model} --all", "also shows parameters, clusters and files", quiet=quiet or as_json
        )


def find_time(model: str) -> str:
    """Return when a model was last written, in local time."""
    from datetime import datetime

    from neartag.storage.manifest import MANIFEST

    return datetime.fromtimestamp((Path(model) / MANIFEST).stat().st_mtime).isoformat(" ", "minutes")


def describe(stored: StoredModel) -> dict[str, Any]:
    """Return what there is to know about a model, fit for JSON."""
    model = stored.model
    method = registry.get(model.kind)
    return {
        "kind": stored.info["kind"],
        "neartag_version": stored.info["neartag_version"],
        "format_version": stored.info["format_version"],
        "digest": stored.info["digest"],
        "signed_by": stored.info["signed_by"],
        "points": int(model.n_points),
        "features": int(model.n_features),
        "labels": int(model.n_labels),
        "trained_on_texts": stored.features is not None and stored.features.accepts == "text",
        **_describe_features(stored.features),
        "label_names": stored.label_names is not None,
        "point_names": stored.point_names is not None,
        "parameters": model.parameters,
        **(resolve(method.inspection)(model) if method.inspection else {}),
        **(_describe_changes(stored) if method.updates else {}),
        "files": stored.info["files"],
        "bytes": stored.info["bytes"],
    }


def _describe_features(features: Any) -> dict[str, Any]:
    """Return how the features of texts were chosen, if neartag did, their language, and their sentence encoders."""
    choice, language = getattr(features, "choice_", None), getattr(features, "language", None)
    chosen = choice.describe() if isinstance(choice, FeatureChoice) else None
    known = language if language in LANGUAGES else None
    encoders = describe_encoders(features)
    told = {"feature_choice": chosen, "language": known, **encoders}
    return told if features is not None else {}


def describe_encoders(features: Any) -> dict[str, Any]:
    """Return which sentence encoders a model has, fit for JSON; nothing where it has none."""
    from neartag.tagging.explained_meaning import sentence_encoder

    vectors = sentence_encoder(features)
    return {} if vectors is None else {"encoders": [each.to_json() for each in vectors.identities_]}


def _describe_changes(stored: StoredModel) -> dict[str, Any]:
    """Return how far the model has drifted since training, and its calibration."""
    from neartag.storage.bundle import update_module
    from neartag.tagging import calibration as calibrations

    drift = update_module(stored.model).drift(stored.model)
    calibration = calibrations.from_extras(stored.extras) if stored.features is not None else None
    return {
        "drift": {**asdict(drift), "retrain": drift.retrain},
        "calibration": None if calibration is None else calibration.to_json(),
    }
