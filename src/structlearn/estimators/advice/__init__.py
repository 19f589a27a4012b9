"""What a user should know after training: unscaled columns, and models that have learned nothing."""
