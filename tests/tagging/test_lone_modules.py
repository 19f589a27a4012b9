"""Modules without their packages: the same answers, and nothing that others see."""

import subprocess
import sys

import pytest

from structlearn.tagging.lone_modules import import_alone
from structlearn.tagging.tokenizers import TOKENIZERS

TEXT = "Dr. Who's here. He didn't say \"why\".\n\nThe U.S. won 3.5%; cannot lose (ever)."
SPLIT = f"""
import sys
from structlearn.tagging.tokenizers import TOKENIZERS
print([TOKENIZERS[name].split({TEXT!r}) for name in ("penn", "marks")])
print(sorted({{"nltk", "sklearn", "scipy.stats", "pandas"}} & set(sys.modules)))
import nltk
print(nltk.word_tokenize is not None, nltk.tokenize.NLTKWordTokenizer().tokenize("don't"))
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that must not be executed, with modules that need no more than each other."""
    folder = tmp_path / "lonely" / "inner"
    folder.mkdir(parents=True)
    (tmp_path / "lonely" / "__init__.py").write_text("raise RuntimeError")
    (folder / "__init__.py").write_text("raise RuntimeError")
    (tmp_path / "lonely" / "base.py").write_text("import os.path\nVALUE = 3\n")
    (folder / "used.py").write_text(
        "import lonely.base\nfrom lonely import base\nfrom lonely.base import VALUE\n"
        "SAME = lonely.base is base\ndef later():\n    from lonely.base import VALUE\n    return VALUE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("package")
def test_packages_are_not_executed_and_modules_find_each_other():
    used = import_alone("lonely.inner.used")
    assert (used.VALUE, used.SAME, used.later(), used.__name__) == (3, True, 3, "lonely.inner.used")
    assert not [name for name in sys.modules if name.startswith("lonely")]


@pytest.mark.usefixtures("package")
def test_what_does_not_work_alone_is_imported_as_usual():
    with pytest.raises(RuntimeError):
        import_alone("lonely.inner.missing")


def test_imported_packages_are_used():
    import json.decoder

    assert import_alone("json.decoder") is json.decoder


def test_text_is_split_as_by_the_whole_of_nltk():
    import nltk  # noqa: F401  (which import_alone then uses)

    done = subprocess.run([sys.executable, "-c", SPLIT], capture_output=True, text=True, check=True)
    split, imported, later = done.stdout.splitlines()
    assert split == str([TOKENIZERS[name].split(TEXT) for name in ("penn", "marks")])
    assert imported == "[]"
    assert later == "True ['do', \"n't\"]"
