"""Compiled Python: kernels, their cache, the operations that they implement; threads, memory, rounding."""
