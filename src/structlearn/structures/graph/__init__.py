"""Labels with any number of states at the nodes of any graph."""
