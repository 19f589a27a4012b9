"""What users pass, checked and laid out as arrays: tables, sentences, graphs, labels."""
