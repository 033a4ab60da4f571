"""The JSON of tagging and of explaining."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from neartag.serve.schemas.common import (
    EXAMPLE_TEXT,
    MAX_LABELS,
    MAX_REASONS,
    THRESHOLD_PATTERN,
    Fallback,
    Found,
    Name,
    Names,
    RequestBody,
    Score,
    Share,
    Span,
    example,
)


class TagRequest(RequestBody):
    """One text, or several."""

    model_config = example(
        {"text": EXAMPLE_TEXT, "k": 3},
        {"texts": [EXAMPLE_TEXT, "Fonts for Thai"], "threshold": "precision=0.8"},
        oneOf=[{"required": ["text"]}, {"required": ["texts"]}],
    )

    text: str = Field("", description="A text.")
    texts: list[str] = Field([], description="Several texts, answered in their order.")
    k: int = Field(5, ge=1, le=MAX_LABELS, description="At most so many labels for each text.")
    threshold: Annotated[float, Field(ge=0, le=1)] | Annotated[str, Field(pattern=THRESHOLD_PATTERN)] | None = Field(
        None,
        description='Only labels of this score and above: a number, "f1" (what gave the best F1 on held-out texts), or '
        '"precision=0.8" (what gave that precision).',
    )
    fallback: bool = Fallback

    include: list[Name] | None = Field(
        None,
        description='Only these labels: names or URIs, "fruit*" for all that begin so, "under:fruit" for a concept of '
        "the vocabulary and all that are narrower.",
    )
    exclude: list[Name] | None = Field(None, description="None of these labels, named in the same ways.")

    @model_validator(mode="after")
    def _one_of_both(self) -> TagRequest:
        if ("text" in self.model_fields_set) == ("texts" in self.model_fields_set):
            raise ValueError("give either text or texts")
        return self


class Tag(BaseModel):
    """A label given to a text."""

    label: str
    score: Score
    share: Share
    uri: str | None = Field(None, description="Of the label's concept, where the model's vocabulary has it.")
    names: dict[str, str] | None = Field(None, description="The concept's preferred names by language.")


class Tagged(BaseModel):
    """The labels of a text, the best first."""

    model_config = example({"labels": [{"label": "game::board:chess", "score": 0.97, "share": 0.91}], "found": True})

    labels: list[Tag]
    found: bool = Found


class TaggedTexts(BaseModel):
    """The labels of each text, in the order of the texts."""

    results: list[Tagged]


class ExplainRequest(RequestBody):
    """A text whose labels are to be explained."""

    model_config = example({"text": EXAMPLE_TEXT, "k": 3, "voters": 5})

    text: str
    k: int = Field(5, ge=1, le=MAX_REASONS, description="Labels to explain.")
    voters: int = Field(5, ge=1, le=MAX_REASONS, description="Documents named for each label.")
    fallback: bool = Fallback


class Word(BaseModel):
    """A word and what it counts for.

    Shared with a document: its part of the cosine of both. Weighed by a ranker: its part of the ranker's sum, below 0
    where it speaks against the label.
    """

    word: str
    weight: float


class Voter(BaseModel):
    """A document that voted for the label."""

    id: str
    title: str | None = Field(description="The first line of its text, where that is short and more lines follow.")
    link: str | None = Field(description="Its id, where that is an address of the web.")
    share: Share
    labels: list[str]
    words: list[Word] = Field(description="What both texts have, the weightiest first.")
    meaning: list[Word] = Field(
        default=[],
        description="Words, or sentences, of the text without which it would be less near in meaning, the weightiest "
        "first; none without a sentence encoder.",
    )
    text: str | None = Field(description="Its text, where the model keeps texts; cut off where it is long.")
    cut: bool = Field(description="Whether the text goes on.")
    spans: list[Span] = Field(description="Where the shared words stand in the document's text.")


class Reason(Tag):
    """A label, who voted for it, and which words of the text its ranker weighed."""

    voters: list[Voter] = Field(description="The strongest first; none where the label was found otherwise.")
    words: list[Word] = Field(
        description="What the label's ranker weighed of the text, the weightiest first, for or against the label; "
        "empty where it has no ranker, as in a model that is not refined."
    )
    found: Literal["votes", "mean", "frequency"] = Field(
        description="What brought the label up: documents near the text that have it; the mean of its documents, which "
        "is like the text though none of them is near; or its frequency alone, where nothing in the text is known."
    )


class Explained(BaseModel):
    """Labels with their voters and words, and the text's known words."""

    model_config = example(
        {
            "labels": [
                {
                    "label": "game::board:chess",
                    "score": 0.97,
                    "share": 0.91,
                    "voters": [
                        {
                            "id": "gnuchess",
                            "title": None,
                            "link": None,
                            "share": 0.12,
                            "labels": ["game::board:chess"],
                            "words": [{"word": "chess", "weight": 0.31}],
                            "text": "Plays a game of chess",
                            "cut": False,
                            "spans": [[16, 21, "chess", 0.31]],
                        }
                    ],
                    "words": [{"word": "chess", "weight": 1.4}, {"word": "network", "weight": -0.2}],
                    "found": "votes",
                }
            ],
            "spans": [[2, 7, "chess", 0.52], [8, 15, "program", 0.2]],
            "refined": True,
            "found": True,
            "names": {},
        }
    )

    labels: list[Reason]
    found: bool = Found
    spans: list[Span] = Field(description="The words of the text that the model knows; weight: in the text's own row.")
    refined: bool = Field(description="Whether rankers decide among the labels, so that scores are more than votes.")
    names: dict[str, dict[str, str]] = Names
