"""What fits make: models that answer and do not change."""
