"""The orders that the paper claims, each checked against what the other experiments measured."""

from neartag.experiments.claims.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
