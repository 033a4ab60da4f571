"""The comparators' settings per data set, chosen on a held-out fifth of the training data.

`benchmarks/choose_comparators.py` repeats the choice. A preset only sets what differs from the defaults.
"""

from __future__ import annotations

from typing import Any

CHOSEN: dict[str, dict[str, dict[str, Any]]] = {
    "leml": {},
    "local_leml": {},
    "wsabie": {},
    "cplst": {},
    "cs": {},
    "ml_cssp": {},
    "fastxml": {},
    "lpsr": {},
    "one_vs_all": {},
    "knn": {},
}
