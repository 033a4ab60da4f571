"""The version, where every room can read it: `neartag/__init__.py` stands above them all."""

__version__ = "0.1.0"
