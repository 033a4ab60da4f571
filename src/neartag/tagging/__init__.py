"""Texts in, label names out: tagger, live folder, explanations, calibration, updates."""
