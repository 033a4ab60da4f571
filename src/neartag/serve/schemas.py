"""The JSON of every request and every answer. The OpenAPI document is made from it.

Sizes that the server's settings limit (characters, texts, bytes) are in limits.py.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_LABELS = 100  # for one text
MAX_REASONS = 20  # labels explained at once, and voters of each
MAX_MAP_POINTS = 400  # points of a cluster on the map
MAX_REVIEWED = 100  # documents or doubts of a review
MAX_NAME_CHARACTERS = 500  # characters of a label or an id
# Names are shown and typed again: no control characters, and not only spaces. Texts may have any.
_PRINTABLE = r"[^\u0000-\u001f\u007f-\u009f]"
NAME_PATTERN = rf"^{_PRINTABLE}*[^\s\u0000-\u001f\u007f-\u009f]{_PRINTABLE}*$"
NUMBER_PATTERN = r"(0?\.[0-9]{1,6}|0|1|1\.0)"
FILE_THRESHOLD_PATTERN = rf"^(|f1|precision=(0?\.[0-9]{{1,6}}|1|1\.0)|{NUMBER_PATTERN})$"
THRESHOLD_PATTERN = r"^(f1|precision=(0?\.[0-9]{1,6}|1|1\.0))$"

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, pattern=NAME_PATTERN)]
Score = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="Probability that the label is right; its share in a model that is neither calibrated nor refined.",
    ),
]
Share = Annotated[float, Field(ge=0, le=1, description="Part of all votes.")]
Span = Annotated[
    tuple[int, int, str, float],
    Field(
        description="Start, end, word, weight. Start and end count UTF-16 units, as JavaScript's strings do: "
        "text.slice(start, end) is the word as it was written; the word itself is in lower case."
    ),
]

Found = Field(
    description="Whether the model knows anything of the text. If not, there are no labels, or with fallback the most "
    "frequent ones, whose scores are 0."
)
Fallback = Field(
    False, description="Give a text that nothing is known of the most frequent labels; otherwise it has none."
)

EXAMPLE_TEXT = "A chess program that plays over the network"


class RequestBody(BaseModel):
    """What a request holds: exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def example(*values: Any, **more: Any) -> ConfigDict:
    """Return the configuration of a request with examples in its schema."""
    return ConfigDict(json_schema_extra={"examples": list(values), **more})


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
        }
    )

    labels: list[Reason]
    found: bool = Found
    spans: list[Span] = Field(description="The words of the text that the model knows; weight: in the text's own row.")
    refined: bool = Field(description="Whether rankers decide among the labels, so that scores are more than votes.")


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
        }
    )

    documents: list[ModelDocument]
    total: int = Field(description="How many fit, those beyond the limit included.")
    complete: bool = Field(description="False where a search ended early: there may be more.")


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


class Health(BaseModel):
    """How the worker that answered is doing."""

    model_config = example(
        {
            "ok": True,
            "points": 23938,
            "labels": 507,
            "model": {
                "name": "debian",
                "kind": "x1",
                "version": "8a51e0c2f3b94d67",
                "added": 0,
                "texts": True,
                "calibrated": True,
                "updatable": True,
                "thresholds": {"f1": 0.31},
            },
            "writable": True,
            "reload_error": None,
            "neartag": "0.1.0",
            "pid": 4711,
        }
    )

    ok: bool = Field(description="Whether what is served is what the folder holds; false with a reload_error.")
    points: int
    labels: int
    model: dict[str, Any] = Field(
        description="name of the folder; kind; version, which changes with every change of the folder; points added "
        "since training; whether texts are kept; whether scores are probabilities; whether documents can be added; "
        "scores that thresholds such as f1 stand for."
    )
    writable: bool = Field(description="Whether a token is configured, without which nothing is added or forgotten.")
    reload_error: str | None = Field(description="Why the folder could not be taken in as it is now.")
    neartag: str
    pid: int


class Error(BaseModel):
    """What went wrong, where, and what to do."""

    error: str
