"""Readers and writers of data files, and problems to try the library on.

Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of

if TYPE_CHECKING:
    from structlearn.data.columns import Sequences as Sequences
    from structlearn.data.columns import read_columns as read_columns
    from structlearn.data.columns import sequences_of as sequences_of
    from structlearn.data.columns import split_rows as split_rows
    from structlearn.data.columns import write_columns as write_columns
    from structlearn.data.conllu import CONLLU as CONLLU
    from structlearn.data.decisions.files import DecisionFile as DecisionFile
    from structlearn.data.decisions.files import read_decisions as read_decisions
    from structlearn.data.decisions.files import write_decisions as write_decisions
    from structlearn.data.decisions.generators import DecisionData as DecisionData
    from structlearn.data.decisions.generators import make_knapsacks as make_knapsacks
    from structlearn.data.decisions.generators import make_shortest_paths as make_shortest_paths
    from structlearn.data.decisions.generators import make_tours as make_tours
    from structlearn.data.digits import digit_sequences as digit_sequences
    from structlearn.data.digits import train_test_digit_sequences as train_test_digit_sequences
    from structlearn.data.download import fetch as fetch
    from structlearn.data.graphs import GraphFile as GraphFile
    from structlearn.data.graphs import read_graphs as read_graphs
    from structlearn.data.graphs import write_graphs as write_graphs
    from structlearn.data.label_images import ImageFolder as ImageFolder
    from structlearn.data.label_images import read_image_folder as read_image_folder
    from structlearn.data.label_images import read_label_image as read_label_image
    from structlearn.data.label_images import write_label_image as write_label_image
    from structlearn.data.letters import read_letters as read_letters
    from structlearn.data.libsvm import read_libsvm as read_libsvm
    from structlearn.data.libsvm import write_libsvm as write_libsvm
    from structlearn.data.registry import DATA_SETS as DATA_SETS
    from structlearn.data.registry import data_folder as data_folder
    from structlearn.data.registry import located as located
    from structlearn.data.rewriting import filled as filled
    from structlearn.data.superpixels import Superpixels as Superpixels
    from structlearn.data.superpixels import superpixel_graph as superpixel_graph
    from structlearn.data.synthetic import make_chains as make_chains
    from structlearn.data.synthetic import make_matchings as make_matchings
    from structlearn.data.synthetic import make_multilabel as make_multilabel
    from structlearn.data.synthetic import make_segmentations as make_segmentations
    from structlearn.data.tables.number_table import read_csv as read_csv
    from structlearn.data.tables.number_table import read_csv_features as read_csv_features
    from structlearn.data.tables.table import Table as Table
    from structlearn.data.tables.table import read_table as read_table
    from structlearn.data.tables.table import read_table_features as read_table_features
    from structlearn.data.tables.table import read_table_pieces as read_table_pieces
    from structlearn.data.text import Lines as Lines
    from structlearn.data.text import check_there as check_there
    from structlearn.data.text import numbered_lines as numbered_lines
    from structlearn.data.text import open_text as open_text
    from structlearn.data.text import write_lines as write_lines
    from structlearn.data.text import written_text as written_text
    from structlearn.data.tokens import Column as Column
    from structlearn.data.tokens import Tokens as Tokens
    from structlearn.data.tokens import read_tokens as read_tokens
    from structlearn.data.triplets import digit_triplets as digit_triplets
    from structlearn.data.triplets import pair_features as pair_features
    from structlearn.data.triplets import read_triplets as read_triplets
    from structlearn.data.uai import Factors as Factors
    from structlearn.data.uai import read_uai as read_uai
    from structlearn.data.uai import read_wcsp as read_wcsp
    from structlearn.data.uai import write_uai as write_uai
    from structlearn.data.vocabulary import FeatureVocabulary as FeatureVocabulary
    from structlearn.data.vocabulary import has_own_features as has_own_features
    from structlearn.storage.errors import DataError as DataError
    from structlearn.storage.packed import Packed as Packed
    from structlearn.storage.packed import open_packed as open_packed
    from structlearn.storage.packing import PackedWriter as PackedWriter
    from structlearn.storage.packing import pack as pack

#: What a user needs, by its module.
_PUBLIC = {
    "columns": (
        "read_columns",
        "write_columns",
    ),
    "decisions.files": (
        "DecisionFile",
        "read_decisions",
        "write_decisions",
    ),
    "decisions.generators": (
        "DecisionData",
        "make_knapsacks",
        "make_shortest_paths",
        "make_tours",
    ),
    "digits": (
        "digit_sequences",
        "train_test_digit_sequences",
    ),
    "download": ("fetch",),
    "graphs": (
        "GraphFile",
        "read_graphs",
        "write_graphs",
    ),
    "label_images": (
        "ImageFolder",
        "read_image_folder",
        "read_label_image",
        "write_label_image",
    ),
    "letters": ("read_letters",),
    "libsvm": (
        "read_libsvm",
        "write_libsvm",
    ),
    "registry": (
        "DATA_SETS",
        "data_folder",
    ),
    "superpixels": (
        "Superpixels",
        "superpixel_graph",
    ),
    "synthetic": (
        "make_chains",
        "make_matchings",
        "make_multilabel",
        "make_segmentations",
    ),
    "tables.number_table": ("read_csv",),
    "tables.table": (
        "Table",
        "read_table",
    ),
    "tokens": (
        "Tokens",
        "read_tokens",
    ),
    "triplets": (
        "digit_triplets",
        "pair_features",
        "read_triplets",
    ),
    "structlearn.storage.errors": ("DataError",),
    "structlearn.storage.packed": (
        "Packed",
        "open_packed",
    ),
    "structlearn.storage.packing": (
        "PackedWriter",
        "pack",
    ),
}
#: What the library's own readers share; it is not part of the reference.
_SHARED = {
    "columns": (
        "Sequences",
        "sequences_of",
        "split_rows",
    ),
    "conllu": ("CONLLU",),
    "registry": ("located",),
    "rewriting": ("filled",),
    "tables.number_table": ("read_csv_features",),
    "tables.table": (
        "read_table_features",
        "read_table_pieces",
    ),
    "text": (
        "Lines",
        "check_there",
        "numbered_lines",
        "open_text",
        "write_lines",
        "written_text",
    ),
    "tokens": ("Column",),
    "uai": (
        "Factors",
        "read_uai",
        "read_wcsp",
        "write_uai",
    ),
    "vocabulary": (
        "FeatureVocabulary",
        "has_own_features",
    ),
}

__all__ = sorted(name for names in _PUBLIC.values() for name in names)

__getattr__, _ = names_of(
    __name__,
    {name: home for part in (_PUBLIC, _SHARED) for home, names in part.items() for name in names},
)


def __dir__() -> list[str]:
    return __all__
