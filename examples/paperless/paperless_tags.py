"""Reuse your own tags in paperless-ngx: learn from documents that you have tagged, and tag others.

    export PAPERLESS_URL=http://localhost:8000 PAPERLESS_TOKEN=…
    python paperless_tags.py learn model/           # from all documents that have tags
    python paperless_tags.py tag model/             # shows what documents without tags would get
    python paperless_tags.py tag model/ --write     # gives it to them
    python paperless_tags.py listen model/ neartag.sock --write    # waits for post_consume.sh, and tags what it names

It only ever adds tags, and only tags that are in the archive already.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from paperless_api import Document, Paperless, PaperlessError
from suggesters import FolderSuggester, ServerSuggester, Suggester, Suggestion

BATCH = 8  # documents in memory at once, and in a request to a server, which takes 1 MB unless told
MIN_DOCUMENTS = 20  # to learn from


class Change(NamedTuple):
    """A document, and the tags that it lacks."""

    document: Document
    added: list[Suggestion]


def learn(paperless: Paperless, folder: str, keep_texts: bool = False) -> tuple[int, int]:
    """Train a model on the documents that have tags, and return how many documents and tags it has."""
    from neartag import TextTagger

    names = {tag.id: tag.name for tag in paperless.tags() if not tag.is_inbox}
    tagged = [
        (document, [names[tag] for tag in document.tags if tag in names])
        for document in paperless.documents(is_tagged=True)
    ]
    known = [(document, tags) for document, tags in tagged if tags]
    if len(known) < MIN_DOCUMENTS:
        raise PaperlessError(f"{len(known)} documents have tags, and {MIN_DOCUMENTS} are needed: tag some more first")
    texts, labels = [document.text for document, _ in known], [tags for _, tags in known]
    tagger = TextTagger(keep_texts=keep_texts).fit(texts, labels, [str(document.id) for document, _ in known])
    tagger.save(folder)
    return len(known), len(tagger.labels)


def find_changes(tags: dict[str, int], suggester: Suggester, documents: Iterable[Document]) -> Iterator[Change]:
    """Yield what each document would get: suggested tags that the archive has, by name, and the document has not."""
    waiting = iter(documents)
    while batch := list(islice(waiting, BATCH)):
        for document, suggested in zip(batch, suggester.suggest([each.text for each in batch]), strict=True):
            yield Change(document, [each for each in suggested if tags.get(each[0], 0) not in (0, *document.tags)])


def tag(
    paperless: Paperless,
    suggester: Suggester,
    documents: Iterable[Document],
    write: bool,
    tell: Callable[[str], None] = lambda line: print(line, flush=True),
) -> tuple[int, int]:
    """Tell what documents get, give it to them where that is asked for, and return how many there were and changed."""
    tags = {each.name: each.id for each in paperless.tags() if not each.is_inbox}
    seen = changed = 0
    for change in find_changes(tags, suggester, documents):
        seen += 1
        if change.added:
            changed += 1
            told = ", ".join(f"+{name} ({100 * score:.0f}%)" for name, score in change.added)
            tell(f"{change.document.id}  {_one_line(change.document.title)}: {_one_line(told)}")
            if write:
                paperless.add_tags(change.document.id, [tags[name] for name, _ in change.added])
    return seen, changed


def tag_one(paperless: Paperless, suggester: Suggester, write: bool, number: int) -> str:
    """Tag a document, and return what was done."""
    told: list[str] = []
    tag(paperless, suggester, [paperless.document(number)], write, told.append)
    return told[0] if told else f"{number}: no tag"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    options = _make_parser().parse_args(arguments)
    try:
        paperless = Paperless(os.environ.get("PAPERLESS_URL", ""), _read_token())
        if options.command == "learn":
            documents, tags = learn(paperless, options.model, options.keep_texts)
            print(f"learned {tags} tags from {documents} documents")
            return 0
        remote = options.model.startswith(("http://", "https://"))
        suggester: Suggester = (ServerSuggester if remote else FolderSuggester)(options.model, options.threshold)
        if options.command == "listen":
            from listener import listen

            listen(options.socket, partial(tag_one, paperless, suggester, options.write))
            return 0
        if options.document:
            documents_to_tag: Iterable[Document] = map(paperless.document, options.document)
        else:
            documents_to_tag = paperless.documents(**({"is_in_inbox": True} if options.inbox else {"is_tagged": False}))
        begun = time.perf_counter()
        seen, changed = tag(paperless, suggester, documents_to_tag, options.write)
        each = 1000 * (time.perf_counter() - begun) / max(1, seen)
        done = "tagged" if options.write else "would be tagged; give --write to do it"
        print(f"{changed} of {seen} documents {done} ({each:.1f} ms each)", file=sys.stderr)
    except Exception as error:
        # neartag's own errors are known by their module: to import it would take longer than a request to a server.
        if not isinstance(error, PaperlessError) and not type(error).__module__.startswith("neartag"):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    learning = commands.add_parser("learn", help="train a model on the documents that have tags")
    learning.add_argument("model", help="folder to save it in")
    learning.add_argument("--keep-texts", action="store_true", help="keep texts in the model, for explanations")
    tagging = commands.add_parser("tag", help="show which tags documents would get, or give them")
    tagging.add_argument("model", help="folder of the model, or the address of a running neartag serve")
    tagging.add_argument("document", nargs="*", type=int, help="ids; without any, all documents without tags")
    tagging.add_argument("--inbox", action="store_true", help="documents of the inbox instead")
    waiting = commands.add_parser("listen", help="wait for post_consume.sh, and tag the documents that it names")
    waiting.add_argument("model", help="folder of the model, or the address of a running neartag serve")
    waiting.add_argument("socket", help="file to make, through which the script says which document has come")
    for each in (tagging, waiting):
        each.add_argument("--write", action="store_true", help="give documents the tags; otherwise they are only shown")
        each.add_argument("--threshold", help="a score, f1, or precision=0.9; by default the model's for precision=0.8")
    return parser


def _read_token() -> str:
    """Return the token, which is never given on a command line, where others could see it."""
    file = os.environ.get("PAPERLESS_TOKEN_FILE")
    try:
        token = Path(file).read_text(encoding="utf-8").strip() if file else os.environ.get("PAPERLESS_TOKEN", "")
    except OSError as error:
        raise PaperlessError(f"the token cannot be read from {file}: {error.strerror}") from error
    if not token or not token.isprintable():
        raise PaperlessError("there is no token: set PAPERLESS_TOKEN, or PAPERLESS_TOKEN_FILE")
    return token


def _one_line(text: str) -> str:
    """Return a title as one line: it comes from a scan, and a terminal obeys control characters."""
    return "".join(each if each.isprintable() else " " for each in text)


if __name__ == "__main__":
    sys.exit(main())
