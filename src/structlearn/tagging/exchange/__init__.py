"""Taggers in the model files of other tools: CRFsuite's and Wapiti's."""
