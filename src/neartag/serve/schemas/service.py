"""The JSON of what the server says about itself, and of errors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from neartag.serve.schemas.common import example


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
                "languages": [],
            },
            "writable": True,
            "needs_token": False,
            "lag_seconds": 0.0,
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
        "scores that thresholds such as f1 stand for; languages of the labels' names."
    )
    writable: bool = Field(description="Whether a token is configured, without which nothing is added or forgotten.")
    needs_token: bool = Field(description="Whether reading needs a token too.")
    lag_seconds: float = Field(description="For how long the folder has held something that is not served yet.")
    reload_error: str | None = Field(description="Why the folder could not be taken in as it is now.")
    neartag: str
    pid: int


class ShortHealth(BaseModel):
    """What a request without a token is told where reading needs one."""

    ok: bool
    needs_token: bool


class Error(BaseModel):
    """What went wrong, where, and what to do."""

    error: str
