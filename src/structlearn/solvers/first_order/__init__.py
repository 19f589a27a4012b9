"""Gradient, subgradient, coordinate and quasi-Newton methods."""
