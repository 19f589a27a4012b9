"""Cutting planes, with one slack variable or one for each example."""
