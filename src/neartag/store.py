"""Public names of `neartag.storage`: save, load, inspect and sign model folders."""

from neartag.storage.sign import sign
from neartag.storage.store import StoredModel, inspect, load, lock, save

__all__ = ["StoredModel", "inspect", "load", "lock", "save", "sign"]
