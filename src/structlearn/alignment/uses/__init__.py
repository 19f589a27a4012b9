"""What alignments are used for: projected labels, phrases, dictionaries, pages."""
