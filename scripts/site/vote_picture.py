"""Write the data of the site's picture of the vote: real documents of the embedded corpus around three sentences.

    neartag train debian model/
    python scripts/site/vote_picture.py model/     # writes docs/site/vote-data.js

The places are those of the server's map, the shares those of the model's own vote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[2] / "docs" / "site" / "vote-data.js"
SENTENCES = ("play chess against the computer", "edit photos and drawings", "watch the traffic of a network")
OTHERS = 120  # documents of the cluster that have no vote
DIGITS = 4


def make_data(folder: str) -> dict[str, Any]:
    """Return each sentence with the documents around it, rounded."""
    from neartag import TextTagger
    from neartag.serve.map import ClusterMaps

    tagger = TextTagger.load(folder)
    maps, drawn = ClusterMaps(), []
    for sentence in SENTENCES:
        found = maps.draw(tagger, sentence, OTHERS)
        points = [
            {
                "id": point["id"],
                "labels": point["labels"],
                **{key: round(point[key], DIGITS) for key in ("x", "y", "share")},
            }
            for point in found["points"]
        ]
        own = {key: round(found["text"][key], DIGITS) for key in ("x", "y")}
        drawn.append({"sentence": sentence, "text": own, "points": points})
    return {"sentences": drawn}


if __name__ == "__main__":
    OUT.write_text(
        f"window.neartagVotes = {json.dumps(make_data(sys.argv[1]), ensure_ascii=False)};\n", encoding="utf-8"
    )
    print(f"{OUT.name}: {OUT.stat().st_size} bytes")
