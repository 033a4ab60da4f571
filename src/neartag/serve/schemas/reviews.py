"""The JSON of reviews: what to look at next."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from neartag.serve.schemas.common import EXAMPLE_TEXT, MAX_REVIEWED, Names, RequestBody, example
from neartag.serve.schemas.documents import ModelDocument
from neartag.serve.schemas.tagging import Tag


class ReviewRequest(RequestBody):
    """Texts without labels, of which those that are worth labelling are asked for."""

    model_config = example({"texts": [EXAMPLE_TEXT, "Fonts for Thai"], "n": 1})

    texts: list[str] = Field(min_length=1)
    n: int = Field(20, ge=1, le=MAX_REVIEWED, description="At most so many.")


class NearDocument(BaseModel):
    """A document of the model near the one that is reviewed."""

    id: str
    title: str | None
    link: str | None
    similarity: float = Field(description="The cosine of their features.")
    labels: list[str]
    words: list[str] = Field(description="That both share, the weightiest first.")
    text: str | None = Field(description="The beginning of its text, where the model keeps texts.")


class ToLabel(BaseModel):
    """A text that is worth labelling."""

    index: int = Field(description="Its place among those sent.")
    id: str | None = Field(description="Its id, where a file has one.")
    text: str
    score: float = Field(description="What its labels would teach: only its order means something.")
    labels: list[Tag] = Field(description="What the model would give it.")
    reason: str
    evidence: list[NearDocument] = Field(description="The nearest documents that the model has.")


class Review(BaseModel):
    """Texts that are worth labelling, the first first."""

    documents: list[ToLabel]
    names: dict[str, dict[str, str]] = Names


class DoubtsRequest(RequestBody):
    """How many doubtful labels are asked for."""

    model_config = example({"n": 3})

    n: int = Field(20, ge=1, le=MAX_REVIEWED, description="At most so many.")


class Doubt(BaseModel):
    """A label that is probably wrong, or probably missing."""

    label: str
    kind: Literal["wrong", "missing"]
    score: float = Field(description="How likely it is.")
    reason: str
    evidence: list[NearDocument]
    document: ModelDocument


class Doubts(BaseModel):
    """Doubtful labels of the model's documents, the most doubtful first."""

    doubts: list[Doubt]
    names: dict[str, dict[str, str]] = Names
