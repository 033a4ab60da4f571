"""Public alias of `neartag.storage.store`: save, load and inspect model folders."""

from neartag.storage.store import StoredModel, inspect, load, lock, save

__all__ = ["StoredModel", "inspect", "load", "lock", "save"]
