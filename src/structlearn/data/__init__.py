"""Readers and writers of data files, and problems to try the library on."""

from structlearn.data.columns import Sequences, read_columns, sequences_of, split_rows, write_columns
from structlearn.data.conllu import CONLLU
from structlearn.data.digits import digit_sequences, train_test_digit_sequences
from structlearn.data.download import fetch
from structlearn.data.graphs import GraphFile, read_graphs, write_graphs
from structlearn.data.label_images import ImageFolder, read_image_folder, read_label_image, write_label_image
from structlearn.data.letters import read_letters
from structlearn.data.libsvm import read_libsvm, write_libsvm
from structlearn.data.registry import DATA_SETS, data_folder, located
from structlearn.data.rewriting import filled
from structlearn.data.superpixels import Superpixels, superpixel_graph
from structlearn.data.synthetic import make_chains, make_matchings, make_multilabel, make_segmentations
from structlearn.data.tables.table import Table, read_csv, read_csv_features, read_table, read_table_features
from structlearn.data.text import Lines, check_there, numbered_lines, open_text, write_lines, written_text
from structlearn.data.tokens import Column, Tokens, read_tokens
from structlearn.data.triplets import digit_triplets, pair_features, read_triplets
from structlearn.data.vocabulary import FeatureVocabulary, has_own_features
from structlearn.storage.errors import DataError
from structlearn.storage.packed import Packed, open_packed
from structlearn.storage.packing import PackedWriter, pack

__all__ = [
    "CONLLU",
    "DATA_SETS",
    "Column",
    "DataError",
    "FeatureVocabulary",
    "GraphFile",
    "ImageFolder",
    "Lines",
    "Packed",
    "PackedWriter",
    "Sequences",
    "Superpixels",
    "Table",
    "Tokens",
    "check_there",
    "data_folder",
    "digit_sequences",
    "digit_triplets",
    "fetch",
    "filled",
    "has_own_features",
    "located",
    "make_chains",
    "make_matchings",
    "make_multilabel",
    "make_segmentations",
    "numbered_lines",
    "open_packed",
    "open_text",
    "pack",
    "pair_features",
    "read_columns",
    "read_csv",
    "read_csv_features",
    "read_graphs",
    "read_image_folder",
    "read_label_image",
    "read_letters",
    "read_libsvm",
    "read_table",
    "read_table_features",
    "read_tokens",
    "read_triplets",
    "sequences_of",
    "split_rows",
    "superpixel_graph",
    "train_test_digit_sequences",
    "write_columns",
    "write_graphs",
    "write_label_image",
    "write_libsvm",
    "write_lines",
    "written_text",
]


def __dir__() -> list[str]:
    return sorted(__all__)
