"""What all requests and answers share: bounds, patterns, names and scores."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

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

Names = Field(description="Names by language of labels in the answer, where a vocabulary has them.")

EXAMPLE_TEXT = "A chess program that plays over the network"


class RequestBody(BaseModel):
    """What a request holds: exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def example(*values: Any, **more: Any) -> ConfigDict:
    """Return the configuration of a request with examples in its schema."""
    return ConfigDict(json_schema_extra={"examples": list(values), **more})
