"""Files: written whole or not at all, locked, of tensors, with content that is checked."""
