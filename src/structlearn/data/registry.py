"""Public data sets: what they are, where they lie on this machine, and where they come from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from structlearn.storage.errors import DataError

#: Names the folder in which each data set has a folder of its own.
VARIABLE = "STRUCTLEARN_DATA"


class Source(NamedTuple):
    """One file to download."""

    url: str
    #: of what the file holds once .gz or .bz2 are undone, since those differ from mirror to mirror; of an
    #: archive itself; empty where nobody has checked one
    sha256: str
    #: the name that it gets; empty for an archive (.zip, .tar, .tar.gz), whose members keep theirs
    file: str


class DataSet(NamedTuple):
    """A data set. Its files may lie about plain or as .gz."""

    what: str
    n_bytes: int
    licence: str
    files: tuple[str, ...]
    sources: tuple[Source, ...] = ()


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel"
_CONLL = "https://www.clips.uantwerpen.be/conll2000/chunking"
_EWT = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/master"
DATA_SETS: dict[str, DataSet] = {
    "letters": DataSet(
        "handwritten words (Taskar et al.): 6,877 of them, 16 x 8 pixels a letter, 26 labels, 10 folds",
        14_557_249,
        "none stated",
        ("letter.data",),
        (
            Source(
                "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
                "535363d0b7bc34246b1f8731719540f526b6807b12dda5d430d011d160bc7882",
                "letter.data",
            ),
        ),
    ),
    "scene": DataSet(
        "images with label sets: 1,211 to train on and 1,196 to test, 294 features, 6 labels",
        9_092_559,
        "none stated",
        ("scene_train", "scene_test"),
        (
            Source(f"{_LIBSVM}/scene_train.bz2", "", "scene_train"),
            Source(f"{_LIBSVM}/scene_test.bz2", "", "scene_test"),
        ),
    ),
    "triplets": DataSet(
        "which of two shoes is more like a third: 85 items, 4,096 features, 283,770 judgements",
        1_179_860,
        "none stated",
        ("zappos.npz",),
    ),
    "hansards": DataSet(
        "English-French debates: 200 pairs with gold links (NAACL 2003), 359,595 pairs of text, no accents",
        39_343_821,
        "none stated",
        ("train.e", "train.f", "train.wa", "bitext.e", "bitext.f"),
    ),
    "vectors": DataSet(
        "word vectors in fastText's text format: English (100 dimensions), French (300 dimensions)",
        77_654_864,
        "PDDL; CC0",
        ("en.vec", "fr.vec"),
    ),
    "dictionary": DataSet(
        "English-French word pairs: 5,000 to map vectors by, 2,000 to test the map",
        117_003,
        "none stated",
        ("train.en-fr.tsv", "test.en-fr.tsv"),
    ),
    "ud_english_ewt": DataSet(
        "dependency trees of English (Universal Dependencies, EWT): 12,544 sentences to train on",
        14_203_025,
        "CC BY-SA 4.0",
        ("en_ewt-ud-train.conllu",),
        (Source(f"{_EWT}/en_ewt-ud-train.conllu", "", "en_ewt-ud-train.conllu"),),
    ),
    "conll2000": DataSet(
        "chunks of sentences (CoNLL-2000): 8,936 sentences to train on and 2,012 to test, word, POS, chunk",
        3_481_560,
        "none stated",
        ("train.txt", "test.txt"),
        (
            Source(
                f"{_CONLL}/train.txt.gz",
                "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
                "train.txt",
            ),
            Source(
                f"{_CONLL}/test.txt.gz",
                "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
                "test.txt",
            ),
        ),
    ),
}


def data_set(name: str) -> DataSet:
    """Return the data set, or a DataError that lists all."""
    if name not in DATA_SETS:
        raise DataError(f"Unknown data set {name!r}; known are {', '.join(DATA_SETS)}.")
    return DATA_SETS[name]


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the folder of all data sets: `folder`, else $STRUCTLEARN_DATA, else the user's own."""
    if folder is not None:
        return Path(folder)
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    from platformdirs import user_data_dir

    return Path(user_data_dir("structlearn", appauthor=False))


def located(name: str, folder: str | Path | None = None) -> Path | None:
    """Return where a data set lies: `data_folder(folder)` / name, or `folder`; None if it is in neither."""
    files = data_set(name).files
    candidates = [data_folder(folder) / name, *([Path(folder)] if folder is not None else [])]
    return next((one for one in candidates if all(file_of(one, file).is_file() for file in files)), None)


def file_of(folder: Path, name: str) -> Path:
    """Return the file `name` of a data set's folder, plain or as .gz."""
    plain = folder / name
    return plain if plain.exists() else folder / f"{name}.gz"


def by_hand(name: str, folder: str | Path | None = None) -> str:
    """Return how to get a data set without a download that can be checked."""
    found = data_set(name)
    place = data_folder(folder) / name
    if not found.sources:
        return f"put {', '.join(found.files)} into {place}"
    urls = " and ".join(source.url for source in found.sources)
    return f"download {urls}, unpack to {' and '.join(found.files)}, and put that into {place}"
