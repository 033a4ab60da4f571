"""Public alias of `neartag.storage.store`: save, load, inspect and sign model folders."""

from neartag.storage.store import StoredModel, inspect, load, lock, save, sign

__all__ = ["StoredModel", "inspect", "load", "lock", "save", "sign"]
