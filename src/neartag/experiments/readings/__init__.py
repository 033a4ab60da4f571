"""Readings: what the paper leaves open about X1, tried one point at a time; the choice is by validation only."""

from neartag.experiments.readings.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
