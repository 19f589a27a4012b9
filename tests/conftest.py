"""Puts this folder on the path (for `brute`), and sets up Hypothesis for all tests."""

from hypothesis import HealthCheck, settings

# The first example of a property may compile for seconds: no deadlines.
settings.register_profile(
    "structlearn", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("structlearn")
