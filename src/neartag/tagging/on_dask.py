"""Training and prediction on the workers of a Dask cluster.

You pass a client; nothing is kept behind your back. Data go to the workers through a work folder, which all of them and
this process must see under the same path or URL: nothing but descriptions of tasks goes through the scheduler. A worker
that dies is replaced by another, and a call that did not end runs again where it stopped. The model is the same, byte
for byte, as from one process.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

from neartag.core.estimator import choose_progress
from neartag.core.progress import Progress
from neartag.core.remote import is_url
from neartag.data import documents, registry
from neartag.data.dataset import Dataset
from neartag.data.files import open_to_replace
from neartag.encoders.registry import make_encoder
from neartag.storage import store
from neartag.storage.bundle import StoredModel
from neartag.tagging.corpus import Corpus, encode_corpus
from neartag.tagging.fitting import fit_bundle, fit_documents
from neartag.tagging.predicted_parts import rank_by_tasks
from neartag.work.engines import WORK_ENDING
from neartag.work.executors.dask import Dask
from neartag.work.remote_folder import open_folder
from neartag.x1.classifier import X1Classifier

__all__ = ["predict", "train"]

Place = str | os.PathLike[str]


def train(
    client: Any,
    data: Any,
    model: Place,
    *,
    features: Any = "auto",
    calibration: str | None = "auto",
    work_dir: Place | None = None,
    keep_work: bool = False,
    progress: Progress | bool = False,
    **settings: Any,
) -> StoredModel:
    """Train X1 on a cluster, and save the model in a folder.

    Parameters
    ----------
    client : distributed.Client
        Who is connected to the cluster.
    data : Dataset, (X, Y), list of Documents, or str
        What to learn from; or the name of a file, of a folder or of a data set that holds it.
    model : str or path
        Folder to save the model in.
    features : str or encoder, default "auto"
        What turns documents into feature rows, as in TextTagger.
    calibration : "auto", "isotonic", "platt" or None
        How the scores of documents become probabilities.
    work_dir : str or path, optional
        The work folder, on storage that all workers see, or a URL that fsspec knows, such as "s3://bucket/run" (extra
        `fsspec`). By default the model's name with ".work".
    keep_work : bool, default False
        Keep the work folder in the end.
    progress : bool or Progress, default False
        Whether to show how many tasks are done.
    **settings
        Parameters of X1Classifier.

    Returns
    -------
    StoredModel
        What was saved, as `neartag.store.load` returns it.

    Raises
    ------
    WorkError
        If the cluster or the disk failed. What was done is kept: the same call runs again where it stopped.
    ParameterError
        If a parameter cannot be used, or the work folder holds work of other data or parameters.

    Examples
    --------
    With a cluster whose scheduler is at tcp://host:8786::

        client = distributed.Client("tcp://host:8786")
        neartag.dask.train(client, "documents.csv", "/shared/model", n_learners=5)
    """
    classifier, shown = X1Classifier(**settings), choose_progress(progress)
    folder = open_folder(_work_folder(model, work_dir))
    points = _read(data)
    with closing(Dask(client, folder)) as executor:
        if isinstance(points, Dataset):
            corpus = Corpus(points.X, points.Y, points.label_names, points.point_names, None)
            stored = fit_bundle(corpus, classifier, progress=shown, executor=executor)
        else:
            given = points, make_encoder(features), classifier
            stored = fit_documents(*given, calibration=calibration, progress=shown, executor=executor)
        store.save_bundle(stored, model)
        del stored, classifier  # which map files of the work folder: Windows would not remove it
    if not keep_work:
        folder.remove()
    return store.load(model)


def predict(
    client: Any,
    model: Place,
    input: Any,
    output: Place,
    *,
    k: int = 5,
    fallback: bool = False,
    work_dir: Place | None = None,
    keep_work: bool = False,
    progress: Progress | bool = False,
) -> None:
    """Write the best labels of each point, one JSON object per line, as `neartag predict --json` does.

    Parameters
    ----------
    client : distributed.Client
    model : str or path
        A model folder that all workers see.
    input : rows, Dataset, list of Documents, or str
        The points; or the name of what holds them.
    output : str or path
        File to write, whole or not at all.
    k : int, default 5
        Labels for each point.
    fallback : bool, default False
        Give a point that nothing is known of the most frequent labels.
    work_dir, keep_work, progress
        As in `train`; the work folder is by default the output's name with ".work".

    Raises
    ------
    WorkError, ParameterError
        As in `train`.

    Examples
    --------
    With the same cluster::

        neartag.dask.predict(client, "/shared/model", "new.csv", "/shared/answers.jsonl", k=3)
    """
    stored, place = store.load(model), os.path.abspath(model)
    folder = open_folder(_work_folder(output, work_dir))
    points = _read(input, labelled=False)
    if isinstance(points, Dataset):
        rows = points.X
    elif hasattr(points, "shape"):
        rows = points
    else:
        rows = encode_corpus(points, stored.features).X
    most, names = min(k, stored.model.n_labels), stored.label_names
    shown = choose_progress(progress)
    with open_to_replace(os.fspath(output)) as stream, closing(Dask(client, folder)) as executor:
        for ranked in rank_by_tasks(executor, place, stored, rows, most, shown, fallback=fallback):
            for labels, scores, found in zip(*(each.tolist() for each in ranked[:2]), ranked.found, strict=True):
                best = [(label, score) for label, score in zip(labels, scores, strict=True) if label >= 0]
                answer = {
                    "labels": [label if names is None else names[label] for label, _ in best],
                    "scores": [score for _, score in best],
                    "found": bool(found),
                }
                stream.write((json.dumps(answer, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
            del ranked  # which maps a file of the work folder
    if not keep_work:
        folder.remove()


def _work_folder(target: Place, given: Place | None) -> str:
    name = os.fspath(given) if given is not None else os.fspath(target).rstrip("/\\") + WORK_ENDING
    return name if is_url(name) else os.path.abspath(name)


def _read(data: Any, *, labelled: bool = True) -> Any:
    """Return what a name stands for, a Dataset or documents; a pair of X and Y as a Dataset; the rest as it is."""
    if isinstance(data, tuple) and not hasattr(data, "_fields"):
        return Dataset(*data)
    if not isinstance(data, str | os.PathLike):
        return data if isinstance(data, Dataset) or hasattr(data, "shape") else list(data)
    place = os.fspath(data)
    if Path(place).exists() and documents.holds_documents(place):
        return documents.documents(place, labelled=labelled)
    return registry.load(place, "train" if labelled else "test", labelled=labelled)
