"""What a model has learned: its largest weights, why it chose an answer, and where training starts from."""
