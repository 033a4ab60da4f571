"""Put the tasks of a Label Studio project in the order in which labelling them teaches a model most.

    LABEL_STUDIO_URL=http://localhost:8080 LABEL_STUDIO_API_KEY=… python review_queue.py model/ PROJECT --n 50

Each task of the queue gets a prediction with the labels that the model would give, and a score that rises along the
queue: order tasks by prediction score, or choose uncertainty sampling, and the most instructive one comes first.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from suggestions import find_control

from neartag import TextTagger

VERSION = "neartag-review"


def queue_tasks(client: Any, tagger: TextTagger, project: int, n: int) -> list[dict[str, Any]]:
    """Store a prediction for each of the n tasks to label first, and return what was stored."""
    control = find_control(client.projects.get(id=project).label_config)
    waiting = [task for task in client.tasks.list(project=project, fields="all") if not task.annotations]
    texts = [str(task.data.get(control.field) or "") for task in waiting]
    chosen = tagger.review(texts, n) if texts else []
    allowed = control.allowed(tagger.labels)
    stored = []
    for place, each in enumerate(chosen):
        labels = [tag.label for tag in each.labels if allowed is None or tag.label in allowed]
        prediction = {
            "task": waiting[each.index].id,
            "result": control.region(labels),
            "score": place / max(1, len(chosen)),
            "model_version": VERSION,
        }
        client.predictions.create(**prediction)
        stored.append({**prediction, "reason": each.reason})
    return stored


def main() -> None:
    """Read the command line and fill the queue."""
    from label_studio_sdk import LabelStudio

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("project", type=int)
    parser.add_argument("--n", type=int, default=50)
    options = parser.parse_args()
    client = LabelStudio(base_url=os.environ["LABEL_STUDIO_URL"], api_key=os.environ["LABEL_STUDIO_API_KEY"])
    for each in queue_tasks(client, TextTagger.load(options.model), options.project, options.n):
        print(f"task {each['task']}: {each['reason']}")


if __name__ == "__main__":
    main()
