"""Public alias of `neartag.methods.tune`: a method's settings, chosen on a part of the training data."""

from neartag.methods.tune import Trial, Tuned, tune

__all__ = ["Trial", "Tuned", "tune"]
