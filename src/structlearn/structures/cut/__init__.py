"""Cuts of graphs."""
