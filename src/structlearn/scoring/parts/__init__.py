"""Features of the parts themselves."""
