"""Whole applications, from data to result."""
