"""The help of a command: options in panels, those of every day first.

Plain text: to draw it with rich would take longer than everything else that --help does.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

EVERYDAY, DATA, FEATURES, METHOD, OUTPUT = "Everyday options", "Data", "Features", "Method", "Output"
TRUST = "Checking the model"
WORK = "Who does the work"
MIN_OPTIONS = 9  # fewer stand in one panel
# The panel of each option by its parameter's name. Parameters of methods bring theirs; anything else is of every day.
_PANELS = {
    DATA: (
        *("id_field", "vector_field", "vectors", "separator", "delimiter", "encoding", "quoting", "indicators"),
        *("label_per_row", "sheet", "kind", "skip_bad", "vocabulary", "open_vocabulary", "label_language"),
        *("max_points", "max_line", "max_ratio", "max_unpacked", "max_members"),
    ),
    FEATURES: (
        *("encoder", "words", "bundle_encoder", "encode_minutes", "vector_cache", "features"),
        *("word_pairs", "char_ngrams", "min_df", "max_df", "hashing", "stop_words"),
    ),
    METHOD: (
        *("method", "calibration", "fix", "attempts", "changes", "random_state", "max_memory", "jobs", "resume"),
        *("propensity_a", "propensity_b"),
    ),
    WORK: ("add_learners", "engine", "workers", "scheduler", "work_dir", "keep_work"),
    OUTPUT: ("keep_texts", "prefix", "plot", "cuts"),
    TRUST: ("expect_digest", "require_signature"),
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}
# Options of every day that stand first, in this order; the others follow in the command's own.
_FIRST = ("target", "text_field", "label_field", "k", "threshold", "fallback", "preset", "overwrite", "language")
_LAST = ("as_json", "quiet", "help")


class PanelCommand(TyperCommand):
    """A command whose help has its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options panel by panel."""
        arguments: list[tuple[str, str]] = []
        panels: dict[str, list[tuple[int, tuple[str, str]]]] = {
            name: [] for name in (EVERYDAY, DATA, FEATURES, METHOD, WORK, OUTPUT, TRUST)
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append(record)
            else:
                panels.setdefault(find_panel(parameter), []).append((_place(parameter.name), record))
        if sum(map(len, panels.values())) < MIN_OPTIONS:
            panels = {"Options": [entry for entries in panels.values() for entry in entries]}
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        for title, entries in panels.items():
            if entries:
                with formatter.section(title):
                    formatter.write_dl([record for _, record in sorted(entries, key=lambda entry: entry[0])])


def find_panel(parameter: Any) -> str:
    """Return the panel of an option."""
    return _PANEL_OF.get(parameter.name) or getattr(parameter, "rich_help_panel", None) or EVERYDAY


def _place(name: str) -> int:
    """Return what options of a panel are sorted by; those of the same number keep their order."""
    if name in _FIRST:
        return _FIRST.index(name)
    return len(_FIRST) + (1 + _LAST.index(name) if name in _LAST else 0)
