"""Dependency trees, projective or not, with labels or without."""
