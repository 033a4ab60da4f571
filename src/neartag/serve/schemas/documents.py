"""The JSON of documents and labels: adding, forgetting, listing."""

from __future__ import annotations

from pydantic import BaseModel, Field

from neartag.serve.schemas.common import EXAMPLE_TEXT, Name, Names, RequestBody, example


class NewDocument(RequestBody):
    """A text with its labels, which may be new to the model."""

    text: str
    labels: list[Name] = Field(min_length=1)
    id: Name | None = Field(None, description="Chosen by the server where it is not given.")


class AddRequest(RequestBody):
    """Documents that vote from now on."""

    model_config = example(
        {
            "documents": [{"text": EXAMPLE_TEXT, "labels": ["role::program", "my::label"], "id": "my-chess"}],
            "new_labels": True,
        }
    )

    documents: list[NewDocument] = Field(min_length=1)
    replace: bool = Field(False, description="Replace documents that have these ids; otherwise a taken id gives 409.")
    new_labels: bool = Field(
        False, description="Whether labels may be new to the model; otherwise a new label, often misspelt, gives 409."
    )


class Added(BaseModel):
    """The ids of what was added, in the order of the documents."""

    model_config = example({"ids": ["my-chess"], "new_labels": ["my::label"]})

    ids: list[str]
    new_labels: list[str] = Field(description="Labels that no document had before.")


class ForgetRequest(RequestBody):
    """Documents to be forgotten: their texts, features and votes go, on disk too."""

    model_config = example({"ids": ["my-chess"]})

    ids: list[str] = Field(min_length=1)


class Forgotten(BaseModel):
    """How many documents were forgotten."""

    model_config = example({"forgotten": 1})

    forgotten: int


class ChangeState(BaseModel):
    """What became of a change."""

    model_config = example(
        {
            "id": "0f9c2a7e",
            "state": "made",
            "what": "add",
            "time": "2026-11-17T12:41:07.318Z",
            "answer": {"ids": ["my-chess"], "new_labels": ["my::label"]},
        }
    )

    id: str
    state: str = Field(description="made, not made, or under way.", pattern="^(made|not made|under way)$")
    what: str | None = Field(description="add or forget; null where it is not begun.")
    time: str | None = Field(description="When it was begun, in UTC.")
    answer: Added | Forgotten | None = Field(description="What the change was answered with, if it was made.")


class KnownLabels(BaseModel):
    """Labels that fit what was typed: first those that begin so, then those with a word that does, then the others.

    A vocabulary adds the other names of its concepts, by which they are found too, and concepts that no document has.
    """

    model_config = example(
        {
            "labels": ["game::board:chess"],
            "points": [52],
            "uris": [None],
            "names": [{}],
            "total": 1,
            "known": None,
            "similar": [],
            "closed": False,
        }
    )

    labels: list[str]
    points: list[int] = Field(description="How many points have each of them.")
    uris: list[str | None] = Field(description="The URI of each, where a vocabulary has one.")
    names: list[dict[str, str]] = Field(description="Preferred names of each by language, where a vocabulary has them.")
    total: int = Field(description="How many fit, those beyond the limit included; not counted much beyond 100,000.")
    known: str | None = Field(description="The label that exactly this name or URI stands for; null where it is new.")
    similar: list[str] = Field(description="Labels that differ from what was typed only in how they are written.")
    closed: bool = Field(description="Whether the vocabulary is closed: new labels are refused.")


class ModelDocument(BaseModel):
    """A document of the model."""

    id: str
    title: str | None = Field(description="The first line of its text, where that is short and more lines follow.")
    link: str | None = Field(description="Its id, where that is an address of the web.")
    text: str | None = Field(description="Its text, where the model keeps texts; cut off where it is long.")
    cut: bool = Field(description="Whether the text goes on.")
    labels: list[str]


class Documents(BaseModel):
    """Documents of the model, the newest first."""

    model_config = example(
        {
            "documents": [
                {
                    "id": "gnuchess",
                    "title": None,
                    "link": None,
                    "text": "Plays a game of chess",
                    "cut": False,
                    "labels": ["game::board:chess"],
                }
            ],
            "total": 1,
            "complete": True,
            "names": {},
        }
    )

    documents: list[ModelDocument]
    total: int = Field(description="How many fit, those beyond the limit included.")
    complete: bool = Field(description="False where a search ended early: there may be more.")
    names: dict[str, dict[str, str]] = Names
