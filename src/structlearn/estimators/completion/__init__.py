"""Training on outputs that are known in part."""
