"""Public alias of `neartag.methods.presets`: settings chosen for a data set, by name or from a file."""

from neartag.methods.presets import check_target, get, get_encoder, get_features, names, write

__all__ = ["check_target", "get", "get_encoder", "get_features", "names", "write"]
