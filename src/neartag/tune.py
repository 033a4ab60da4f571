"""Public alias: a method's settings, chosen on a part of the training data, and for texts the features too."""

from neartag.methods.tune import Trial, Tuned, tune
from neartag.tagging.tune_texts import tune_texts

__all__ = ["Trial", "Tuned", "tune", "tune_texts"]
