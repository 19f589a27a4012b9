"""Learning from gold links: features of edges, weights, and probabilities of links."""
