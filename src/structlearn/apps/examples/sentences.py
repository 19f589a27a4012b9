"""English sentences with parts of speech, chunks, names and trees: the examples of tag, chunk, ner and parse.

They were written and annotated for this library, in the style of Universal Dependencies and CoNLL-2000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from structlearn.apps.examples.example import OWN_LICENCE, TaskExample, shipped, try_commands

_TEXT = "Maria Stone sold her old boat to the Harbour Bank in Hamburg.\nThe mayor will visit Oslo on Friday."
_RAW = "structlearn tag model.safetensors text.txt --format inline"
_LICENCE = f"written for structlearn; {OWN_LICENCE}"
#: A token of the shipped file: its ten fields.
Token = list[str]


def _sentences(name: str) -> Iterator[list[Token]]:
    for block in shipped(f"sentences-{name}.conllu").decode().strip().split("\n\n"):
        yield [line.split("\t") for line in block.splitlines() if not line.startswith("#")]


def _noted(token: Token, name: str) -> str:
    """Return a value of a token's last field, as in Name=B-PER."""
    return dict(pair.split("=") for pair in token[9].split("|"))[name]


def _columns(*columns: Callable[[Token], str], text: bool = True) -> Callable[[Path], None]:
    """Return what writes train.conll and test.conll with these columns, and perhaps text.txt."""

    def write(folder: Path) -> None:
        for name in ("train", "test"):
            blocks = (
                "".join(" ".join(column(token) for column in columns) + "\n" for token in sentence)
                for sentence in _sentences(name)
            )
            (folder / f"{name}.conll").write_text("\n".join(blocks), encoding="utf-8")
        if text:
            (folder / "text.txt").write_text(f"{_TEXT}\n", encoding="utf-8")

    return write


def _word(token: Token) -> str:
    return token[1]


def _part_of_speech(token: Token) -> str:
    return token[3]


def _chunk(token: Token) -> str:
    return _noted(token, "Chunk")


def _name(token: Token) -> str:
    return _noted(token, "Name")


def _write_trees(folder: Path) -> None:
    for name in ("train", "test"):
        (folder / f"{name}.conllu").write_bytes(shipped(f"sentences-{name}.conllu"))


TAG = TaskExample(
    "92 English sentences, each word with its part of speech",
    _LICENCE,
    _columns(_word, _part_of_speech),
    (*try_commands("tag", ".conll"), _RAW),
)
CHUNK = TaskExample(
    "92 English sentences: word, part of speech, and the phrase that it begins (B-NP) or continues (I-NP)",
    _LICENCE,
    _columns(_word, _part_of_speech, _chunk, text=False),
    try_commands("chunk", ".conll", predict="--spans"),
)
NER = TaskExample(
    "92 English sentences with names of people (PER), places (LOC) and organisations (ORG)",
    _LICENCE,
    _columns(_word, _name),
    (*try_commands("ner", ".conll", predict="--spans"), _RAW),
)
PARSE = TaskExample(
    "92 English sentences with dependency trees", _LICENCE, _write_trees, try_commands("parse", ".conllu")
)
