"""Structures that decide: routes, packings, selections, trees, tours, and any program in matrices."""
