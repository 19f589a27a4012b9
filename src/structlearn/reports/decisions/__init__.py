"""The study of decisions: losses that are trained for the decision beside regression."""
