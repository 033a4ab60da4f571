"""SKOS, read by rdflib: preferred, alternative and hidden names, broader and narrower concepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neartag.core.errors import DataError, ParameterError
from neartag.core.extras import install_hint
from neartag.data.files import open_to_read
from neartag.vocabulary.concepts import NO_LANGUAGE
from neartag.vocabulary.labelling import Described


def read_skos(path: Path, notation: str) -> list[Described]:
    """Return the concepts of a SKOS file, in the order of their URIs; those marked as deprecated are left out."""
    try:
        from rdflib import Graph
        from rdflib.namespace import OWL, RDF, SKOS
        from rdflib.term import Literal, URIRef
    except ImportError as error:
        raise ParameterError(install_hint(f"{path}: reading SKOS needs rdflib", "skos")) from error
    graph = Graph()
    with open_to_read(path) as stream:
        content = stream.read()
    try:
        graph.parse(data=content, format=notation)
    except Exception as error:  # rdflib's parsers raise many kinds, of which some derive from Exception alone
        raise DataError(f"{path}: cannot be read as SKOS ({_one_line(error)}): mend it, or check its ending") from error
    deprecated = {node for node, value in graph.subject_objects(OWL.deprecated) if str(value).lower() in ("true", "1")}
    nodes = set(graph.subjects(RDF.type, SKOS.Concept)) - deprecated
    broader = _pairs(graph, SKOS.broader)
    for node, values in _pairs(graph, SKOS.narrower).items():
        for value in values:
            broader.setdefault(value, []).append(node)
    # A name is a literal; whatever else a damaged file puts there is none.
    preferred, alternative, hidden = (
        _pairs(graph, kind, Literal) for kind in (SKOS.prefLabel, SKOS.altLabel, SKOS.hiddenLabel)
    )
    concepts = []
    for node in sorted((node for node in nodes if isinstance(node, URIRef)), key=str):
        names: dict[str, str] = {}
        for value in sorted(preferred.get(node, ()), key=_key):
            names.setdefault(value.language or NO_LANGUAGE, str(value).strip())
        others = sorted((*alternative.get(node, ()), *hidden.get(node, ())), key=_key)
        above = sorted({str(each) for each in broader.get(node, ()) if each in nodes and each != node})
        concepts.append(
            Described(str(node), names, tuple(dict.fromkeys(str(each).strip() for each in others)), tuple(above))
        )
    return concepts


def _pairs(graph: Any, predicate: Any, kind: type = object) -> dict[Any, list[Any]]:
    """Return the objects of a kind of each subject: one pass, which is far quicker than asking for each concept."""
    values: dict[Any, list[Any]] = {}
    for node, value in graph.subject_objects(predicate):
        if isinstance(value, kind):
            values.setdefault(node, []).append(value)
    return values


def _key(value: Any) -> tuple[str, str]:
    return value.language or NO_LANGUAGE, str(value)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
