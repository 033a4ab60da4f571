"""The ladder from X1 (paper) to neartag: what each departure from the paper is worth.

Each change is measured twice: alone, made to X1 (paper); and on top of all changes before it. The first and the last
rung are the columns X1 (paper) and refined of Table 3, on the same splits.
"""

from neartag.experiments.ladder.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
