"""The training problem: objective, oracle, regularisers (Omega), penalties (R), losses, least squares."""
