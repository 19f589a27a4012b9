"""Whole applications, from data to result: the demonstration, recipes, and what model files can hold.

Tagging, parsing and alignment are rooms of their own (`structlearn.tagging` ...); their old names here go on
working.
"""

from structlearn.core.imports import keep_old_names, names_of

__all__ = ["alignment", "parsing", "tagging", "text"]

#: Old names in this room, and what they stand for.
_MOVED = {
    "alignment": "structlearn.alignment",
    "alignment.aligner": "structlearn.alignment.aligner",
    "alignment.bitext": "structlearn.alignment.text.bitext",
    "alignment.clean": "structlearn.alignment.text.clean",
    "alignment.concatenated": "structlearn.alignment.gold.concatenated",
    "alignment.corpus": "structlearn.alignment.corpus",
    "alignment.links": "structlearn.alignment.links",
    "alignment.metrics": "structlearn.alignment.metrics",
    "alignment.nearest": "structlearn.alignment.gold.nearest",
    "alignment.page": "structlearn.alignment.uses.page",
    "alignment.pair_files": "structlearn.alignment.files.pair_files",
    "alignment.statistics": "structlearn.alignment.statistics",
    "alignment.symmetrize": "structlearn.alignment.symmetrize",
    "alignment.text": "structlearn.alignment.text",
    "alignment.vectors": "structlearn.alignment.gold.vectors",
    "parsing": "structlearn.parsing",
    "parsing.conllu": "structlearn.parsing.conllu",
    "parsing.metrics": "structlearn.parsing.metrics",
    "tagging": "structlearn.tagging",
    "tagging.tagger": "structlearn.tagging.tagger",
    "text": "structlearn.tagging.features",
    "text.features": "structlearn.tagging.features.features",
    "text.templates": "structlearn.tagging.features.templates",
    "text.tokenizers": "structlearn.tagging.tokenizers",
}

keep_old_names({f"{__name__}.{old}": new for old, new in _MOVED.items()})

__getattr__, __dir__ = names_of(__name__, {}, {name: _MOVED[name] for name in __all__})
