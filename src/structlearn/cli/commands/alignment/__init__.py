"""The commands of `structlearn align`."""
