"""A row of features for each position or example, weights for each label."""
