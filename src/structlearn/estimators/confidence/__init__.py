"""How sure a model is: probabilities of answers, calibration, sets with a guarantee."""
