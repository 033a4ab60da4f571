"""What the server does with files and reviews, which take longer than other requests: one after another."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import Response
from pydantic import Field

from neartag.data.documents import Document, Fields
from neartag.data.documents.fields import QUOTINGS
from neartag.serve import schemas
from neartag.serve.checks import check_texts, read_body, run_in
from neartag.serve.errors import MAX_FAULTS_NAMED, Refusal, json_response
from neartag.serve.followed_model import FollowedModel
from neartag.serve.limits import SLOW_FACTOR
from neartag.serve.reviews import find_doubts, review_documents
from neartag.serve.settings import Settings
from neartag.serve.uploads import Limits, Upload, read_texts, tag_file
from neartag.tagging.answering import find_min_score
from neartag.tagging.batches import Asked

MAX_COLUMNS = 100  # of texts that are joined
MAX_NAMED = 1000  # labels to include or to exclude
MAX_SHOWN = 100  # characters of a parameter's name in an error
NO_CONTROLS = r"^[^\u0000-\u001f\u007f-\u009f]*$"

FileName = Annotated[
    str, Query(min_length=1, max_length=200, pattern=NO_CONTROLS, description="The file's name; its ending tells how.")
]
Reviewed = Annotated[int, Query(ge=1, le=schemas.MAX_REVIEWED, description="At most so many.")]
Labels = list[schemas.Name] | None
Column = Annotated[str, Field(min_length=1, max_length=500, pattern=NO_CONTROLS)]


def read_fields(
    text_field: Annotated[
        list[Column] | None,
        Query(max_length=MAX_COLUMNS, description="The column of the text, text unless given; several are joined."),
    ] = None,
    id_field: Annotated[
        str, Query(max_length=500, pattern=NO_CONTROLS, description="The column of the id; id unless given.")
    ] = "",
    delimiter: Annotated[
        str, Query(max_length=10, description="What separates cells, such as ; or tab; found unless given.")
    ] = "",
    quoting: Annotated[str, Query(max_length=20, description=f"{', '.join(QUOTINGS)}; found unless given.")] = "",
    encoding: Annotated[str, Query(max_length=40, description="Such as cp1252; found unless given.")] = "",
    sheet: Annotated[
        str, Query(max_length=200, pattern=NO_CONTROLS, description="Of a workbook; the only one unless given.")
    ] = "",
) -> Fields:
    """Return how to read a file, as its request says."""
    return Fields(
        text=tuple(text_field) if text_field else Fields.text,
        id=id_field or Fields.id,
        delimiter=delimiter or None,
        quoting=quoting or None,
        encoding=encoding or None,
        sheet=sheet or None,
    )


AskedFields = Annotated[Fields, Depends(read_fields)]


def refuse_unknown(request: Request, endpoint: Callable[..., Any]) -> None:
    """Raise Refusal where the request has a parameter that the endpoint does not know: a slip would pass unseen."""
    known = {*signature(endpoint).parameters, *signature(read_fields).parameters} - {"request", "fields"}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        named = ", ".join(repr(name[:MAX_SHOWN]) for name in unknown[:MAX_FAULTS_NAMED])
        raise Refusal(422, f"there is no parameter {named}; there are {', '.join(sorted(known))}. See /openapi.json")


class FileEndpoints:
    """What each path of files and reviews does."""

    def __init__(self, model: FollowedModel, settings: Settings) -> None:
        self._model, self._settings = model, settings
        self._thread = ThreadPoolExecutor(1, "neartag-files")

    def close(self) -> None:
        """End the thread, once it has finished its work."""
        self._thread.shutdown()

    async def tag_file(
        self,
        request: Request,
        name: FileName,
        fields: AskedFields,
        k: Annotated[int, Query(ge=1, le=schemas.MAX_REASONS, description="At most so many labels for each row.")] = 5,
        threshold: Annotated[
            str, Query(pattern=schemas.FILE_THRESHOLD_PATTERN, description="A score, f1 or precision=0.8.")
        ] = "",
        include: Annotated[
            Labels, Query(max_length=MAX_NAMED, description="Only these labels; several: given several times.")
        ] = None,
        exclude: Annotated[Labels, Query(max_length=MAX_NAMED, description="None of these labels.")] = None,
        fallback: Annotated[bool, Query(description="Give rows of which nothing is known the usual labels.")] = False,
        prefix: Annotated[
            str, Query(max_length=50, pattern=NO_CONTROLS, description="Stands before the names of added columns.")
        ] = "",
    ) -> Response:
        """Return a table (CSV, TSV, JSON lines or Excel, by the file's name) with the labels of each row added."""
        refuse_unknown(request, self.tag_file)
        upload = await self._upload(request, name, fields)
        number = re.fullmatch(schemas.NUMBER_PATTERN, threshold)
        min_score = (float(threshold) if number else threshold) if threshold else None
        asked = Asked(k, min_score, include, exclude, fallback, n_jobs=1)
        find_min_score(asked.threshold, self._model.tagger.calibration)  # one that cannot be used is told at once
        return await run_in(self._thread, tag_file, self._model.tagger, upload, asked, prefix)

    async def review(self, request: Request) -> Response:
        """Return which of some texts are most worth labelling, each with what the model would say and why."""
        asked = await read_body(request, schemas.ReviewRequest)
        check_texts(self._settings, asked.texts)
        documents = [Document(text, [], None, None, "") for text in asked.texts]
        arguments = self._model.tagger, documents, asked.n
        return await run_in(self._thread, lambda: json_response(review_documents(*arguments)))

    async def review_file(
        self,
        request: Request,
        name: FileName,
        fields: AskedFields,
        n: Reviewed = 20,
    ) -> Response:
        """Return which texts of a file are most worth labelling."""
        refuse_unknown(request, self.review_file)
        upload = await self._upload(request, name, fields)
        tagger = self._model.tagger

        def work() -> Response:
            documents = read_texts(upload)
            return json_response(review_documents(tagger, documents, n) if documents else {"documents": []})

        return await run_in(self._thread, work)

    async def doubts(self, request: Request) -> Response:
        """Return labels of the model's own documents that are probably wrong or missing."""
        asked = await read_body(request, schemas.DoubtsRequest)
        tagger = self._model.tagger
        return await run_in(self._thread, lambda: json_response(find_doubts(tagger, asked.n)))

    async def _upload(self, request: Request, name: str, fields: Fields) -> Upload:
        seconds = SLOW_FACTOR * self._settings.max_seconds
        limits = Limits(self._settings.max_upload, self._settings.max_characters, time.monotonic() + seconds)
        return Upload(name, await request.body(), fields, limits)
