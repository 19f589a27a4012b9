"""Predict, then optimise: estimators that are trained for the decision, not for the prediction."""
