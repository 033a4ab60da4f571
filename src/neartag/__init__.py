"""neartag: the few right labels out of thousands or millions, by a nearest-neighbour vote that explains itself."""

from __future__ import annotations

__version__ = "0.1.0"
