"""As much of paperless-ngx's REST API as tagging needs: tags, documents, and adding tags. It cannot remove anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

PAGE_SIZE = 100
SECONDS = 30.0  # until an answer must be there


class PaperlessError(Exception):
    """What went wrong, in one line."""


@dataclass(frozen=True)
class Tag:
    """A tag of the archive."""

    id: int
    name: str
    is_inbox: bool


@dataclass(frozen=True)
class Document:
    """A document of the archive: its words, and its tags by their ids."""

    id: int
    title: str
    content: str
    tags: tuple[int, ...]

    @property
    def text(self) -> str:
        """What a model reads."""
        return f"{self.title}\n{self.content}"


class Paperless:
    """An archive at an address, with the token of one of its users."""

    def __init__(self, url: str, token: str) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise PaperlessError(f"{url!r} is no address: give one that begins with http:// or https://")
        self._url, self._token = url.rstrip("/"), token

    def tags(self) -> list[Tag]:
        """Return all tags."""
        return [Tag(each["id"], each["name"], bool(each.get("is_inbox_tag"))) for each in self._pages("/api/tags/", {})]

    def document(self, number: int) -> Document:
        """Return a document."""
        return _read(self._ask(f"/api/documents/{number}/"))

    def documents(self, **filters: Any) -> Iterator[Document]:
        """Yield documents, all or those that the filters of paperless leave, such as is_tagged=False."""
        for each in self._pages("/api/documents/", {"ordering": "id", **filters}):
            yield _read(each)

    def add_tags(self, document: int, tags: Sequence[int]) -> None:
        """Give a document more tags. It keeps those that it has, also those that it got in the meantime."""
        parameters = {"add_tags": list(tags), "remove_tags": []}
        body = {"documents": [document], "method": "modify_tags", "parameters": parameters}
        self._ask("/api/documents/bulk_edit/", body)

    def _pages(self, path: str, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what a list has. Pages are counted here: addresses in an answer might lead to another computer."""
        page = 0
        more = True
        while more:
            page += 1
            asked = {name: str(value).lower() for name, value in query.items()}
            answer = self._ask(f"{path}?{urlencode({**asked, 'page': page, 'page_size': PAGE_SIZE})}")
            yield from answer["results"]
            more = bool(answer.get("next"))

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Token {self._token}", "Accept": "application/json"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        try:
            with urlopen(Request(self._url + path, data, headers), timeout=SECONDS) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            told = " ".join(error.read(200).decode(errors="replace").split())
            raise PaperlessError(f"paperless answers {error.code} to {path.partition('?')[0]}: {told}") from error
        except (URLError, OSError, ValueError) as error:
            raise PaperlessError(f"paperless cannot be asked at {self._url}: {error}") from error


def _read(entry: dict[str, Any]) -> Document:
    return Document(entry["id"], entry.get("title") or "", entry.get("content") or "", tuple(entry["tags"]))
