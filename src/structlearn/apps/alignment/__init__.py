"""Word alignment: text, statistics, features, training, symmetrisation."""
