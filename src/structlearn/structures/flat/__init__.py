"""One of K labels, and K labels that are on or off."""
