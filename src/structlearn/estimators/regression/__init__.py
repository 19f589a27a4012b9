"""Linear regression: closed forms, sparse penalties, and the Bayesian posterior."""
