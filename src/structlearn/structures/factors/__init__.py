"""Factor graphs: tables over several variables, and constraints that count."""
