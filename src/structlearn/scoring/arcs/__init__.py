"""Features of arcs between words, made while they are asked for."""
