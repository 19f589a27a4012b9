"""Tables as people have them: what their columns are, and which features they become."""
