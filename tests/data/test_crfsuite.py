"""Files of CRFsuite are read as its documentation says."""

import gzip

import pytest

from structlearn.data import DataError
from structlearn.data.crfsuite import CrfsuiteFile, is_crfsuite

TEXT = "B-NP\tw=the\tlen:3\t__BOS__\nI-NP\tw=a\\:b\\\\c\tx:0.5\tx:0.25\n\n\nO\tw=runs\tlen:-1e1\n"


@pytest.mark.parametrize("name", ["data.crfsuite", "data.txt", "data.txt.gz"])
def test_reading(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT.encode()) if name.endswith("gz") else TEXT.encode())
    file = CrfsuiteFile(path)
    assert list(file) == [
        [{"w=the": 1.0, "len": 3.0, "__BOS__": 1.0}, {"w=a:b\\c": 1.0, "x": 0.75}],
        [{"w=runs": 1.0, "len": -10.0}],
    ]
    assert [one.tolist() for one in file.labels] == [["B-NP", "I-NP"], ["O"]]
    assert is_crfsuite(path)


@pytest.mark.parametrize(
    "text",
    ["the\tDT\tB-NP\n=\tSYM\tO\n", "w=the\tp=DT\tB-NP\n", "a b c\n", "1 1:0.5 2:1\n", "\n"],
)
def test_other_files_are_not_taken_for_it(tmp_path, text):
    path = tmp_path / "data.txt"
    path.write_text(text)
    assert not is_crfsuite(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("O\ta:x\n", r"line 1.*'a:x' has no finite number after its colon; write a colon of a name as \\:"),
        ("O\ta\n\nO\tb:nan\n", "line 3"),
        ("O\ta:1:2\n", "no finite number"),
        ("\n\n", "holds no tokens"),
    ],
)
def test_mistakes(tmp_path, text, said):
    path = tmp_path / "data.crfsuite"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        list(CrfsuiteFile(path))


def test_empty_labels(tmp_path):
    path = tmp_path / "data.crfsuite"
    path.write_text("O\ta\n\tb\n")
    file = CrfsuiteFile(path)
    assert len(list(file)) == 1
    with pytest.raises(DataError, match=r"line 2.*the label is empty"):
        file.check_labels()
