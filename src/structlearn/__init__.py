"""structlearn: structured prediction with a certificate."""

__version__ = "0.1.0"
