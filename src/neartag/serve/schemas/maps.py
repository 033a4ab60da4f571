"""The JSON of the map."""

from __future__ import annotations

from pydantic import BaseModel, Field

from neartag.serve.schemas.common import EXAMPLE_TEXT, MAX_MAP_POINTS, RequestBody, Share, example


class MapRequest(RequestBody):
    """A text to be shown among the points of its cluster."""

    model_config = example({"text": EXAMPLE_TEXT})

    text: str
    points: int = Field(MAX_MAP_POINTS, ge=0, le=MAX_MAP_POINTS, description="At most so many points besides voters.")


class Place(BaseModel):
    """A place on the map."""

    x: float
    y: float


class MapPoint(Place):
    """A document on the map."""

    id: str
    labels: list[str] = Field(description="The first few of its labels.")
    share: Share = Field(description="Its part of the votes on the text; 0 where it did not vote.")
    outside: bool = Field(description="It is a point of another cluster, and stands where this one would put it.")


class Cluster(BaseModel):
    """The text's cluster, of the first learner."""

    number: int
    points: int
    explained: float = Field(description="Part of the points' variance that the map's two directions show.")


class Map(BaseModel):
    """A cluster in two dimensions, along its two principal components. Without any known word there is no map."""

    model_config = example(
        {
            "cluster": {"number": 0, "points": 23938, "explained": 0.11},
            "text": {"x": 0.41, "y": -0.2},
            "points": [
                {"id": "gnuchess", "labels": ["game::board"], "x": 0.4, "y": -0.22, "share": 0.1, "outside": False},
                {"id": "0ad", "labels": ["game::strategy"], "x": 0.3, "y": 0.1, "share": 0.0, "outside": False},
            ],
        }
    )

    cluster: Cluster | None
    text: Place | None
    points: list[MapPoint] = Field(description="Those that voted first, the strongest first; then others, a sample.")
