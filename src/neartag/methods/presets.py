"""Settings per data set, by name, as the methods' records have them, or from a file.

A preset only sets what differs from the defaults. A file is JSON, as `neartag tune` writes it:
{"method": "x1", "settings": {"l2": 3.0, …}}. It may also say which features of texts the settings were chosen for:
"features": "characters", or an object with that kind and parameters of TfidfFeatures, {"kind": "words", "min_df": 2}.
"encoder" is the sentence encoder whose vectors stood beside the words, as `neartag train --encoder` takes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neartag.core.errors import DataError, ParameterError
from neartag.core.parameters import check_settings
from neartag.methods import registry
from neartag.methods.registry import DEFAULT_METHOD

FILE = ".json"  # how the name of a preset that is a file ends
# Data sets by the registry's names.
_ALIASES = {"mediamill-rand": "mediamill", "eurlex4k-partial": "eurlex"}


def names(method: str = DEFAULT_METHOD) -> tuple[str, ...]:
    """Return the names of a method's presets.

    Parameters
    ----------
    method : str, default "x1"
        The method's name.

    Returns
    -------
    tuple of str

    Raises
    ------
    ParameterError
        If there is no such method.

    Examples
    --------
    >>> from neartag import presets
    >>> "bibtex" in presets.names()
    True
    """
    return tuple(registry.get(method).presets)


def get(name: str, method: str = DEFAULT_METHOD) -> dict[str, Any]:
    """Return a preset's settings.

    Parameters
    ----------
    name : str
        The preset's name, that of its data set, or a file that ends in .json.
    method : str, default "x1"
        The method that the settings are for.

    Returns
    -------
    dict
        Values by parameter, the caller's own.

    Raises
    ------
    ParameterError
        If there is no such preset, or the file holds none for this method.

    Examples
    --------
    >>> from neartag import presets
    >>> presets.get("bibtex", "knn")
    {'neighbours': 30}
    """
    if name.endswith(FILE):
        return _read(Path(name), method)
    known = registry.get(method).presets
    key = preset_name(name)
    if key not in known:
        where = "" if method == DEFAULT_METHOD else f" of {method}"
        there = ", ".join(known) or "none"
        raise ParameterError(f"there is no preset {name!r}{where}; there are {there}, and files that end in {FILE}")
    return dict(known[key])


def get_features(name: str) -> dict[str, Any] | None:
    """Return the features of texts that a preset's settings were chosen for.

    Parameters
    ----------
    name : str
        The preset's name, or a file that ends in .json.

    Returns
    -------
    dict or None
        Parameters of TfidfFeatures, and as "kind" the kind of features that they change; None: the preset says nothing.

    Raises
    ------
    ParameterError
        If the file is no preset, or its features cannot be used.

    Examples
    --------
    >>> from neartag import presets
    >>> presets.get_features("bibtex") is None
    True
    """
    if not name.endswith(FILE):
        return None
    features = _read_file(Path(name)).get("features")
    if features is None:
        return None
    from neartag.encoders.feature_kinds import AUTO, kind_parameters
    from neartag.encoders.tfidf import TfidfFeatures
    from neartag.encoders.tfidf_parameters import check_parameters

    entry = {"kind": features} if isinstance(features, str) else features
    try:
        if not isinstance(entry, dict):
            raise ParameterError(f"features={features!r:.60}: must be a kind, or an object with parameters")
        if entry.get("kind", AUTO) != AUTO:
            kind_parameters(entry["kind"])
        check_parameters(TfidfFeatures(**{key: value for key, value in entry.items() if key != "kind"}))
    except TypeError as error:
        raise ParameterError(f"preset {name}: features: {error}") from error
    except ParameterError as error:
        raise ParameterError(f"preset {name}: {error}") from error
    return dict(entry)


def get_encoder(name: str) -> str | None:
    """Return the sentence encoder that a preset's settings were chosen with.

    Parameters
    ----------
    name : str
        The preset's name, or a file that ends in .json.

    Returns
    -------
    str or None
        As `neartag train --encoder` takes it; None: words alone.

    Raises
    ------
    ParameterError
        If the file is no preset, or its encoder is no text.

    Examples
    --------
    >>> from neartag import presets
    >>> presets.get_encoder("bibtex") is None
    True
    """
    if not name.endswith(FILE):
        return None
    encoder = _read_file(Path(name)).get("encoder")
    if encoder is not None and not isinstance(encoder, str):
        raise ParameterError(f"preset {name}: encoder={encoder!r:.60}: must be a sentence encoder's folder or name")
    return encoder


def preset_name(name: str) -> str:
    """Return the name of the preset for a data set of the registry: mostly the data set's own."""
    return _ALIASES.get(name, name)


def write(
    path: Path | str,
    method: str,
    settings: dict[str, Any],
    about: dict[str, Any] | None = None,
    features: str | dict[str, Any] | None = None,
    encoder: str | None = None,
) -> None:
    """Write a file that `get` reads, whole or not at all.

    Parameters
    ----------
    path : path
        Where to; it must end in .json for `get` to read it.
    method : str
        The method that the settings are for.
    settings : dict
        Values by parameter.
    about : dict, optional
        Where the settings are from; kept in the file for people to read.
    features : str or dict, optional
        The features of texts that they were chosen for, as `get_features` returns them.
    encoder : str, optional
        The sentence encoder that they were chosen with, as `get_encoder` returns it.

    Returns
    -------
    None

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from neartag import presets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     presets.write(f"{folder}/mine.json", "knn", {"neighbours": 7})
    ...     presets.get(f"{folder}/mine.json", "knn")
    {'neighbours': 7}
    """
    import json

    from neartag.data.files import open_to_replace

    more = {"features": features, "encoder": encoder, "about": about}
    content = {"method": method, "settings": settings, **{name: value for name, value in more.items() if value}}
    with open_to_replace(path) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def check_target(path: Path | str) -> None:
    """Find out, before any work is lost, whether a preset could be written, and read again.

    Parameters
    ----------
    path : path
        Where to.

    Returns
    -------
    None

    Raises
    ------
    ParameterError
        If the name does not end in .json, or there is no folder for it.

    Examples
    --------
    >>> from neartag import presets
    >>> presets.check_target("mine.json")
    """
    if not str(path).endswith(FILE):
        raise ParameterError(f"a preset's file must end in {FILE}, which {path} does not")
    if not Path(path).absolute().parent.is_dir():
        raise ParameterError(f"{path}: there is no folder {Path(path).parent} to write it in")


def _read(path: Path, method: str) -> dict[str, Any]:
    content = _read_file(path)
    whose = content.get("method", method)
    if whose != method:
        raise ParameterError(f"preset {path} is one of {whose}, not of {method}: give --method {whose}")
    try:
        return check_settings(content["settings"], registry.get(method).parameters, method)
    except ParameterError as error:
        raise ParameterError(f"preset {path}: {error}") from error


def _read_file(path: Path) -> dict[str, Any]:
    import json

    from neartag.data.files import read_bytes

    form = '{"method": "x1", "settings": {"l2": 3.0}}'
    try:
        content = json.loads(read_bytes(path))
    except DataError as error:
        raise ParameterError(f"preset {error}; neartag tune DATA --out {path} would make it") from error
    except ValueError as error:
        raise ParameterError(f"preset {path}: is no JSON such as {form}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("settings"), dict):
        raise ParameterError(f"preset {path}: must be an object such as {form}")
    return content
