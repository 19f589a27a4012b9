"""A study of how solvers scale: what each takes to a gap, over numbers of examples and lambdas."""
