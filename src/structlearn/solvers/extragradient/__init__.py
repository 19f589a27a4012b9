"""The dual extragradient method and its plain ancestor."""
