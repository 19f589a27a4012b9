"""Block-coordinate Frank-Wolfe and its relatives."""
