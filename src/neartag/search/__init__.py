"""Nearest neighbours, whoever asks: exact, in IVF cells, or by an inverted index of features."""
