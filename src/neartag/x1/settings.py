"""X1's settings as a value: frozen, typed, nested by the paper's steps, and made once from the flat parameters.

The flat parameters (`parameters.py`) are what users, presets and model folders write; every step of the method reads
this value instead. A setting may still be "auto": `resolve` (`resolve.py`) returns a new value in which it is not,
unless held-out points choose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from neartag.x1 import parameters

# This module must stay light: nothing of numpy.


def _from(name: str) -> Any:
    """Return the field of a flat parameter: its name there, and its default."""
    return field(default=parameters.DEFAULTS[name], metadata={"parameter": name})


@dataclass(frozen=True)
class ClusterSettings:
    """How the points are clustered, and how many clusters a new point looks into."""

    count: int | str = _from("n_clusters")
    max_size: int | str | None = _from("max_cluster_size")
    start: str = _from("cluster_start")
    k_means: str = _from("k_means")
    probes: int = _from("n_probe")
    centroid_entries: int | None = _from("centroid_entries")


@dataclass(frozen=True)
class SVPSettings:
    """How a cluster's embeddings are learned from its label graph."""

    dim: int | str = _from("embedding_dim")
    neighbours: int | str = _from("svp_neighbours")
    similarity: str = _from("label_similarity")
    step: float = _from("svp_step")
    max_iter: int | str = _from("svp_max_iter")
    tol: float = _from("svp_tol")
    projection: str = _from("svp_projection")


@dataclass(frozen=True)
class RegressionSettings:
    """How the embeddings are regressed from the features, and to what precision they are kept."""

    l2: float | str = _from("l2")
    l1: float = _from("l1")
    rho: float = _from("rho")
    max_iter: int = _from("admm_max_iter")
    tol: float = _from("admm_tol")
    keep_weights: float = _from("keep_weights")
    precision: str = _from("precision")


@dataclass(frozen=True)
class VoteSettings:
    """Who votes on a new point, and with what weight."""

    neighbours: int | str = _from("vote_neighbours")
    distance: str = _from("vote_distance")
    search: str = _from("vote_search")
    weight: str = _from("vote_weight")
    sharpness: float = _from("vote_sharpness")
    feature_share: float | str = _from("feature_share")
    feature_search: str = _from("feature_search")
    vector_share: float | str = _from("vector_share")


@dataclass(frozen=True)
class RerankSettings:
    """Whether linear rankers decide among the candidates, and how they are trained."""

    enabled: bool = _from("refine")
    candidates: int | str = _from("refine_candidates")
    cost: float | str = _from("refine_cost")
    min_weight: float = _from("refine_min_weight")


@dataclass(frozen=True)
class X1Settings:
    """All settings of a model, but none of the machine that trains it."""

    learners: int | str = _from("n_learners")
    clusters: ClusterSettings = ClusterSettings()
    svp: SVPSettings = SVPSettings()
    regression: RegressionSettings = RegressionSettings()
    vote: VoteSettings = VoteSettings()
    rerank: RerankSettings = RerankSettings()
    vector_weight: float | str = _from("vector_weight")
    threshold: float = _from("threshold")
    random_state: int | None = _from("random_state")

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any]) -> X1Settings:
        """Return the settings of flat parameters, the others at their defaults.

        Raises ParameterError for one that is not known or cannot be used. Those of the machine are left out.
        """
        return _fill_group(cls, parameters.check_settings(dict(given)))

    def to_parameters(self) -> dict[str, Any]:
        """Return the flat parameters, by name."""
        return _flatten(self)

    def value(self, name: str) -> Any:
        """Return the value of a flat parameter; KeyError where there is none of that name."""
        group, field_name = _PLACES[name]
        return getattr(self if group is None else getattr(self, group), field_name)

    def replace(self, **changes: Any) -> X1Settings:
        """Return the settings with some of them changed, named as flat parameters: `replace(l2=1.0)`."""
        unknown = changes.keys() - _PLACES.keys()
        if unknown:
            raise KeyError(f"no setting is called {', '.join(sorted(unknown))}")
        groups: dict[str | None, dict[str, Any]] = {}
        for name, value in changes.items():
            group, field_name = _PLACES[name]
            groups.setdefault(group, {})[field_name] = value
        own = groups.pop(None, {})
        nested = {group: replace(getattr(self, group), **values) for group, values in groups.items() if group}
        return replace(self, **own, **nested)


def _places() -> dict[str, tuple[str | None, str]]:
    """Return where each flat parameter stands: its group, None where it has none, and its field."""
    places: dict[str, tuple[str | None, str]] = {}
    for each in fields(X1Settings):
        if "parameter" in each.metadata:
            places[each.metadata["parameter"]] = None, each.name
        else:
            places |= {
                inner.metadata["parameter"]: (each.name, inner.name)
                for inner in fields(getattr(X1Settings(), each.name))
            }
    return places


_PLACES = _places()


def _fill_group(kind: type, given: Mapping[str, Any]) -> Any:
    """Return a group of settings with the values given, by the names of their parameters."""
    values = {}
    for each in fields(kind):
        if "parameter" in each.metadata:
            if each.metadata["parameter"] in given:
                values[each.name] = given[each.metadata["parameter"]]
        else:
            values[each.name] = _fill_group(type(each.default), given)
    return kind(**values)


def _flatten(group: Any) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for each in fields(group):
        value = getattr(group, each.name)
        if is_dataclass(value):
            flat |= _flatten(value)
        else:
            flat[each.metadata["parameter"]] = value
    return flat
