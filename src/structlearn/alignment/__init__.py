"""Word alignment: text, statistics, features, training, symmetrisation."""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.corpus import load_corpus
    from structlearn.alignment.files.pair_files import read_pair_file
    from structlearn.alignment.text.pairs import read_pairs

__all__ = ["Aligner", "load_corpus", "read_pair_file", "read_pairs"]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "Aligner": "aligner",
        "load_corpus": "corpus",
        "read_pair_file": "files.pair_files",
        "read_pairs": "text.pairs",
    },
)
