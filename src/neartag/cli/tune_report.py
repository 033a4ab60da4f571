"""What `neartag tune` tells: all that was tried, the default beside it, and how to train with the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neartag.cli import output
from neartag.cli.options import flag, in_words
from neartag.methods import registry
from neartag.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from neartag.methods.tune import Trial, Tuned

MAX_SHOWN_TRIALS = 12  # lines of the table
# A gain below so many standard errors may be chance. The best of many is partly the luckiest: this is no strict test.
MIN_STANDARD_ERRORS = 2.0


def make_report(
    tuned: Tuned, data: str, features: Mapping[str, Any] | None, out: str | None, seed: int, minutes: float | None
) -> dict[str, Any]:
    """Return all that is told, as JSON has it."""
    options = " ".join(_option(name, value) for name, value in tuned.settings.items())
    options += "".join(f" {_feature_option(name, value)}" for name, value in (features or {}).items())
    own = "" if tuned.method == DEFAULT_METHOD else f" --method {tuned.method}"
    chosen = f"--preset {out}" if out is not None else options
    return {
        "method": tuned.method,
        "settings": tuned.settings,
        **({} if features is None else {"features": dict(features)}),
        "about": describe(tuned, data, seed),
        "default": None if tuned.default is None else _trial(tuned.default),
        "gain": tuned.gain,
        "gain_error": tuned.gain_error,
        "seconds": tuned.seconds,
        "minutes": minutes,
        "resumed": tuned.resumed,
        "options": options,
        "train": f"neartag train {data} MODEL{own} {chosen}",
        "trials": [_trial(trial) for trial in tuned.trials],
    }


def describe(tuned: Tuned, data: str, seed: int) -> dict[str, Any]:
    """Return where the settings are from, for the preset's file."""
    from neartag.core.version import __version__

    return {
        "data": data,
        "trained_on": tuned.best.points,
        "held_out": tuned.held_out,
        **{name: round(value, 2) for name, value in tuned.best.metrics.items()},
        **({} if tuned.gain is None else {"gain_over_default": round(tuned.gain, 2)}),
        "tried": len(tuned.trials),
        "random_state": seed,
        "neartag": __version__,
    }


def show(tuned: Tuned, report: Mapping[str, Any]) -> None:
    """Print what was tried, the best first, and how to use it."""
    ranked = sorted(tuned.trials, key=lambda trial: (trial is not tuned.best, -trial.points, -trial.score))
    shown = ranked[:MAX_SHOWN_TRIALS]
    if tuned.default is not None and all(trial is not tuned.default for trial in shown):
        shown.append(tuned.default)
    headings = ("points", "P@1", "P@3", "P@5", "train s", "settings")
    name = registry.get(tuned.method).title
    title = f"{len(tuned.trials)} settings of {name}, judged by {tuned.held_out:,} held-out points"
    output.show_table(headings, [_cells(trial) for trial in shown], title=title, words=(5,), strong=0)
    if len(ranked) > len(shown):
        output.show_words(
            f"and {len(ranked) - len(shown)} more that were worse or trained on fewer points (--json has all)"
        )
    print()
    output.show_pairs(
        [
            ("best", report["options"]),
            ("gain", _gain(tuned)),
            ("time", _time(tuned, report["minutes"])),
            ("train", report["train"]),
        ]
    )


def _gain(tuned: Tuned) -> str:
    """Return in words how much better the choice is than the default."""
    if tuned.default is None or tuned.gain is None:
        return "unknown: the default settings could not be trained"
    if tuned.best.default:
        return "none: the default settings are the best that was tried"
    parts = (f"{name} {tuned.best.metrics[name] - value:+.2f}" for name, value in tuned.default.metrics.items())
    clear = MIN_STANDARD_ERRORS * (tuned.gain_error or 0.0)
    chance = "; so little may be chance" if tuned.gain < clear else ""
    return f"{tuned.gain:+.2f} points over the default on the held-out points ({', '.join(parts)}){chance}"


def _time(tuned: Tuned, minutes: float | None) -> str:
    """Return in words how long the search took."""
    taken = f"{tuned.seconds:.0f} s"
    if tuned.resumed:
        taken += f", and {tuned.resumed} trials of an earlier run"
    if minutes is not None:
        taken += f", of {minutes:g} min: what was tried depends on the speed of this machine"
    return taken


def _trial(trial: Trial) -> dict[str, Any]:
    told = {name: value for name, value in vars(trial).items() if name != "precisions"}  # too many to read
    return {**told, "score": trial.score if trial.metrics else None}


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return flag(name if value else f"no_{name}")
    return f"{flag(name)} {in_words(value)}"


def _feature_option(name: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        value = "-".join(str(each) for each in value)
    return f"{flag('features' if name == 'kind' else name)} {value}"


def _cells(trial: Trial) -> list[str]:
    settings = " ".join(f"{name}={in_words(value)}" for name, value in trial.settings.items())
    settings = f"default: {settings}" if trial.default else settings
    numbers = [f"{value:.2f}" for value in trial.metrics.values()] or ["–"] * 3
    return [
        f"{trial.points:,}",
        *numbers,
        f"{trial.seconds:.1f}",
        f"{settings}: {trial.error}" if trial.error else settings,
    ]
