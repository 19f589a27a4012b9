import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from structlearn.data import DataError, read_letters

SHARED = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def line(number, letter, following, fold=0, pixels=None):
    pixels = np.zeros(128, dtype=int) if pixels is None else pixels
    return "\t".join(map(str, [number, letter, following, 1, 1, fold, *pixels])) + "\t\n"


def test_words_end_where_no_letter_follows(tmp_path):
    pixels = np.arange(128) % 2
    path = tmp_path / "letter.data.gz"
    with gzip.open(path, "wt") as file:
        file.writelines([line(1, "o", 2, pixels=pixels), line(2, "n", -1), line(3, "a", -1, fold=7)])
    X, y, folds = read_letters(path)
    assert [x.shape for x in X] == [(2, 128), (1, 128)]
    np.testing.assert_array_equal(X[0][0], pixels)
    assert ["".join(word) for word in y] == ["on", "a"]
    assert folds.tolist() == [0, 7]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no words"),
        ("1\ta\t-1\n", "line 1: 3 columns"),
        (line(1, "a", 2) + line(2, "b", -1, pixels=[0] * 127), "line 2: the pixels are not 128"),
        (line(1, "a", -1, pixels=[2] * 128), "line 1: the pixels are not 128 columns of 0 and 1"),
        (line(1, "a", -1, fold="x"), 'line 1: the fold "x"'),
        (line(1, "a", -1, fold=10**30), 'line 1: the fold "1000'),
    ],
)
def test_bad_files(tmp_path, text, said):
    path = tmp_path / "letter.data"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_letters(path)


@pytest.mark.skipif(not (SHARED / "letters").exists(), reason="the letters are not here")
def test_the_real_file():
    X, y, folds = read_letters(SHARED / "letters" / "letter.data.gz")
    assert len(X) == len(y) == len(folds) == 6877
    assert sum(map(len, y)) == 52152
    assert (folds == 0).sum() == 626
