"""Section 2's theory: the bounds of both theorems beside measured losses."""

from neartag.experiments.theory.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
