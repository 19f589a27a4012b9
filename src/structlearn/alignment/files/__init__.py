"""Aligners and sentence pairs in files."""
