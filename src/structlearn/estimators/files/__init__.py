"""Estimators in model files."""
