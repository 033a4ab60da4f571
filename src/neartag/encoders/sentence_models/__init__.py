"""Sentence models: what turns a text into a vector of its meaning. Each needs an extra, which is imported when used."""
