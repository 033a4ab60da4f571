"""`neartag train`: a model folder from labelled points."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from neartag.cli import merge, output
from neartag.cli.encoder_options import EncoderOptions
from neartag.cli.engine_options import EngineName, KeepWork, Scheduler, WorkDir, Workers, say_how_to_resume
from neartag.cli.inspect import describe_encoders
from neartag.cli.model_folder import announce_saving, check_target, disk_bytes, find_digest
from neartag.cli.options import METHOD_NAMES, AsJson, Quiet, read_settings, with_parameters
from neartag.cli.reading import Reading, with_reading
from neartag.cli.sources import HELP, check_source
from neartag.cli.training_report import count_mapped_bytes, show_report, suggest_next, votes_were_better
from neartag.cli.trust_options import Trust, with_trust
from neartag.cli.urls import name_of, with_urls
from neartag.cli.vocabulary_options import (
    LabelLanguage,
    OpenVocabulary,
    VocabularyFile,
    check_options,
    load_vocabulary,
)
from neartag.core.errors import ParameterError
from neartag.core.parameters import parse_bytes
from neartag.core.usage import Usage
from neartag.methods import presets, registry
from neartag.methods.registry import DEFAULT_METHOD
from neartag.work.engines import Engine

CALIBRATIONS = ("auto", "isotonic", "platt", "none")


@with_parameters
@with_reading
@with_trust
@with_urls("data", written="model")
def train(
    data: Annotated[str, typer.Argument(metavar="DATA", help=HELP + " Of a data set, its train part.")],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder to save the model in.")],
    method: Annotated[str, typer.Option(metavar="NAME", help=f"What learns: {METHOD_NAMES}.")] = DEFAULT_METHOD,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.json",
            help=f"Settings chosen for a data set: {', '.join(presets.names())}; or the file that neartag tune wrote, "
            "with the features of texts. Options given override them. Other methods have fewer.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is in the folder.")] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|NAME",
            help="A sentence encoder, for the meaning of texts beside their words: its folder, wordllama, or "
            "OWNER/MODEL of the hub; several with commas; none: words alone. Or what makes feature rows by itself: "
            "tfidf, vectors, or an encoder of another package.  [default: none; vectors for documents with vectors]",
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words/--no-words", help="Use words beside the vectors of a sentence encoder.")
    ] = True,
    bundle_encoder: Annotated[
        bool, typer.Option("--bundle-encoder", help="Copy the sentence encoder's weights into the model folder.")
    ] = False,
    encode_minutes: Annotated[
        float | None,
        typer.Option(
            "--encode-minutes",
            metavar="NUMBER",
            help="Use words alone where the sentence encoder would take longer.  [default: as long as it takes]",
        ),
    ] = None,
    vector_cache: Annotated[
        bool,
        typer.Option(
            "--vector-cache/--no-vector-cache",
            help="Keep vectors of texts in the cache folder, so that training again is fast. Not with --no-keep-texts.",
        ),
    ] = True,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="What is counted in texts: words, pairs (words and word pairs), characters (words and runs of "
            "characters) or all; auto tries them on a part of the documents.  [default: auto, unless --word-pairs, "
            "--char-ngrams, --min-df, --max-df or --hashing is given]",
        ),
    ] = None,
    word_pairs: Annotated[bool, typer.Option("--word-pairs", help="Also count pairs of adjacent words.")] = False,
    char_ngrams: Annotated[
        str | None, typer.Option("--char-ngrams", metavar="FROM-TO", help="Also count runs of characters, such as 3-5.")
    ] = None,
    min_df: Annotated[
        str | None,
        typer.Option(
            "--min-df", help="Keep words that at least so many texts have; below 1, a share of them.  [default: 1]"
        ),
    ] = None,
    max_df: Annotated[
        str | None,
        typer.Option(
            "--max-df", help="Keep words that at most so many texts have; up to 1.0, a share of them.  [default: 1.0]"
        ),
    ] = None,
    hashing: Annotated[
        int | None,
        typer.Option("--hashing", metavar="INTEGER", help="Hash words into so many features; keep no vocabulary."),
    ] = None,
    stop_words: Annotated[
        str | None, typer.Option("--stop-words", metavar="FILE", help="Words to leave out, one on each line.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Language of the texts, such as fi or Finnish: leaves out its frequent stop words, and counts words "
            "by their stems.",
        ),
    ] = None,
    calibration: Annotated[
        str, typer.Option(metavar="KIND", help="How scores become probabilities: auto, isotonic, platt or none.")
    ] = "auto",
    keep_texts: Annotated[
        bool, typer.Option("--keep-texts/--no-keep-texts", help="Keep texts in the model, for explanations.")
    ] = True,
    vocabulary: VocabularyFile = None,
    open_vocabulary: OpenVocabulary = False,
    label_language: LabelLanguage = None,
    engine: EngineName = "threads",
    workers: Workers = None,
    scheduler: Scheduler = None,
    work_dir: WorkDir = None,
    keep_work: KeepWork = False,
    add_learners: Annotated[
        int | None,
        typer.Option(
            "--add-learners",
            metavar="INTEGER",
            help="Train so many learners more for the model in the folder, on the data that it was trained on.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
    trust: Trust,
    **given: str | None,
) -> None:
    """Train X1, or another method, and save the model in a folder.

    An encoder turns documents (such as JSON lines with "text" and "labels") into feature rows, and the model then tags
    texts. Options that are not given are the preset's, or the defaults shown.

    The options below are X1's. Other methods' options: neartag methods NAME.
    """
    chosen = registry.get(method)
    if calibration not in CALIBRATIONS:
        raise ParameterError(f"--calibration must be auto, isotonic, platt or none, not {calibration!r}")
    settings = choose_settings(preset, given, chosen.name)
    check_source(data)
    who = Engine(engine, workers, scheduler, work_dir, keep_work)
    who.check()
    if add_learners is not None:
        merge.add_learners(data, model, add_learners, settings, who, reading, trust, as_json=as_json, quiet=quiet)
        return
    if trust != Trust():
        raise ParameterError(
            "--expect-digest and --require-signature are for the model that --add-learners gives more learners"
        )
    options = EncoderOptions(
        encoder if encoder is not None or preset is None else presets.get_encoder(preset),
        features,
        word_pairs,
        char_ngrams,
        min_df,
        max_df,
        hashing,
        stop_words,
        language,
        None if preset is None else presets.get_features(preset),
        words,
        bundle_encoder,
        encode_minutes,
        vector_cache and keep_texts,  # forgetting a document needs its text to find its vector
    )
    options.check()
    check_options(vocabulary, open_vocabulary, label_language)
    if who.has_folder and not chosen.by_tasks:
        raise ParameterError(f"--engine and --work-dir are for X1: {chosen.title} is trained in one go")
    who.check_folder(name_of(model))
    overwrite = overwrite or who.was_saving(model, find_digest(model))  # an attempt that was killed later on
    check_target(model, overwrite)

    from neartag.cli.data import load_training
    from neartag.core.threads import resolve_jobs
    from neartag.data.near_duplicates import find_near_duplicates
    from neartag.linalg.rows import normalise
    from neartag.storage.store import save_bundle
    from neartag.tagging.corpus import Corpus
    from neartag.tagging.fitting import fit_bundle
    from neartag.x1.schedule import Machine

    to_fit = options.make_encoder(reading.part)
    classifier = chosen.estimator_class()(**settings)
    resolve_jobs(classifier.n_jobs)
    progress = output.progress(quiet)
    concepts = None
    if vocabulary is not None:
        with progress.start(None, f"reading {vocabulary}"):
            concepts = load_vocabulary(vocabulary, open_vocabulary, label_language)
    with progress.start(None, f"reading {name_of(data)}"):
        memory = settings.get("max_memory")
        room = None if memory is None else parse_bytes(memory)
        keep = chosen.explains and keep_texts
        dataset, fitted, texts = load_training(
            data,
            room,
            reading,
            to_fit,
            keep_texts=keep,
            vocabulary=concepts,
            n_jobs=classifier.n_jobs,
            progress=progress,
            encode_minutes=encode_minutes,
        )
    if fitted is None:
        replace(options, name=encoder).refuse_rows(name_of(data))  # not for what the preset brought
        if options.preset is not None:
            known = f"the features of {preset} are for texts, and {name_of(data)} holds rows of features"
            output.message(known, quiet=quiet)
    choice = getattr(fitted, "choice_", None)
    reading.warn_skipped()
    reading.tell_understood(quiet)
    if choice is not None:
        output.message(f"features: {choice.message}", quiet=quiet)
    alike = [] if fitted is None else find_near_duplicates(dataset.label_names or [])
    usage = Usage()
    things = output.things(fitted is not None)
    jobs = resolve_jobs(classifier.n_jobs)
    with say_how_to_resume(who, model), who.open(model, jobs, Machine(jobs, room).room()) as executor:
        with progress.start(None, f"training {chosen.title}"):
            if chosen.unit_rows:
                dataset.X = normalise(dataset.X, in_place=True)  # as training does, which then makes no copy
            corpus = Corpus(dataset.X, dataset.Y, dataset.label_names, dataset.point_names, texts)
            wish = None if calibration == "none" else calibration
            stored = fit_bundle(corpus, classifier, fitted, calibration=wish, progress=progress, executor=executor)
        cost = usage.measure()
        if votes_were_better(stored.model):
            output.message(f"votes alone decide: on {things} held out they were better than rankers", quiet=quiet)
        with progress.start(None, f"saving {name_of(model)}"):
            check_target(model, overwrite)  # again: somebody may have saved a model there meanwhile
            save_bundle(replace(stored, vocabulary=concepts), model, announce=partial(announce_saving, who, model))
        del stored, classifier  # which map files of the work folder: Windows would not remove it
    show_report(
        {
            "model": name_of(model),
            "method": chosen.name,
            "points": dataset.n_points,
            "features": dataset.n_features,
            "labels": dataset.n_labels if dataset.Y.nnz else 0,  # documents without any have a column without a name
            **cost,
            "peak_rss_bytes": usage.measure()["peak_rss_bytes"],  # again: saving may have needed more than training
            **({} if choice is None else {"feature_choice": choice.describe()}),
            **describe_encoders(fitted),
            **({} if concepts is None else {"concepts": len(concepts)}),
            **({"near_duplicates": alike} if alike else {}),
            **reading.skipped,
            "mapped_bytes": count_mapped_bytes(dataset),
            "model_bytes": disk_bytes(Path(model)),
        },
        as_json,
        things,
        quiet=quiet,
    )
    suggest_next(model, fitted is not None and fitted.accepts == "text", quiet=quiet or as_json)


def choose_settings(preset: str | None, given: dict[str, str | None], method: str = DEFAULT_METHOD) -> dict[str, Any]:
    """Return a method's settings: those of the preset, overridden by the options given."""
    settings = read_settings(given, method)
    if preset is None:
        return settings
    return {**presets.get(preset, method), **settings}
