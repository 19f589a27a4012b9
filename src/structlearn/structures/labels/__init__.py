"""Sets of labels with pairs that like or shun each other."""
