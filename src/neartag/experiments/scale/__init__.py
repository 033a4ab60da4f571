"""How far each method goes within limits of time and memory, on made-up sets of the paper's large shapes."""

from neartag.experiments.scale.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
