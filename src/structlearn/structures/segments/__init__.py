"""Segmentations: sequences cut into labelled segments, semi-Markov models."""
