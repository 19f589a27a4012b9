"""Labelled text in and out: CoNLL columns, CoNLL-U, words in brackets, JSON lines; a sentence at a time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from structlearn.alignment.files.pair_files import FilePair
from structlearn.alignment.text.pairs import file_lines
from structlearn.alignment.uses.projection import NO_TAG, Projection
from structlearn.core.registry import Registry, one_of
from structlearn.core.wording import quote
from structlearn.data import CONLLU, DataError, Lines
from structlearn.data.tokens import token_sentences
from structlearn.estimators.inputs.spans import OUTSIDE, spans
from structlearn.storage.errors import StrPath

_MARKED = re.compile(r"O|[BIMESLU]-.+", re.DOTALL)
#: `[ORG Acme Inc]`: a bracket with a label, a blank, words.
_BRACKETED = re.compile(r"(?:^|\s)\[[^\s\[\]]+\s+\S")
#: Lines that are looked at to see whether words are in brackets.
_LOOKED_AT = 100


class LabelledSentence(NamedTuple):
    """Words and their labels, and the line of each word."""

    words: list[str]
    labels: list[str]
    lines: list[int]


class LabelledText(NamedTuple):
    """A file: the name of its format, the column of its labels, its sentences as they come."""

    form: str
    column: str
    sentences: Iterator[LabelledSentence]


def is_spans(kind: str, labels: Iterable[str]) -> bool:
    """Whether labels mark spans: by their kind or, if "auto", each is O or one like B-NP, and not all O."""
    if one_of("kind of labels", kind, ("auto", "spans", "tags")) != "auto":
        return kind == "spans"
    names = set(labels)
    return all(map(_MARKED.fullmatch, names)) and names != {OUTSIDE} and bool(names)


def read_labelled(path: StrPath, column: str | None = None, form: str | None = None) -> LabelledText:
    """Read labelled sentences.

    Parameters
    ----------
    path : str or path
        Plain or .gz; `-` is the standard input.
    column : str, optional
        The column of the labels, a number from 0 or a name of CoNLL-U; by default the last, or upos.
    form : "columns" or "inline", optional
        By default inline if one of the first lines has words in brackets, `[ORG Acme Inc]`, and no tab.

    """
    name = os.fspath(path)
    lines = file_lines(path, whole=True)
    head = list(islice(lines, _LOOKED_AT))
    whole = _chain_lines(head, lines)
    if form is not None:
        one_of("form of labels", form, ("columns", "inline"))
    if form == "inline" or (form is None and _has_brackets(head)):
        return LabelledText("inline", "", _read_inline(name, whole))
    return _read_columns(name, whole, column)


def _chain_lines(head: list[tuple[int, str]], lines: Lines) -> Lines:
    with closing(lines):
        yield from chain(head, lines)


def _has_brackets(head: list[tuple[int, str]]) -> bool:
    return any(_BRACKETED.search(line) for _, line in head) and not any("\t" in line for _, line in head)


# ---- columns ----------------------------------------------------------------------------------------


def _read_columns(name: str, lines: Lines, column: str | None) -> LabelledText:
    layout, sentences = token_sentences(name, lines)
    if len(layout.names) < 2:
        raise DataError.at(name, layout.line, "only one column; a word and its label are wanted.")
    own = column or ("upos" if layout.conllu else layout.names[-1])
    try:
        place, word = layout.place(own), layout.place("form") if layout.conllu else 0
    except ValueError as error:
        raise DataError.at(name, layout.line, str(error)) from None
    read = (_sentence(sentence, word, place) for sentence in sentences)
    return LabelledText("conllu" if layout.conllu else "conll", own, read)


def _sentence(sentence: list[tuple[int, list[str]]], word: int, label: int) -> LabelledSentence:
    words, labels = ([cells[place] for _, cells in sentence] for place in (word, label))
    return LabelledSentence(words, labels, [number for number, _ in sentence])


# ---- brackets ---------------------------------------------------------------------------------------


def _read_inline(name: str, lines: Lines) -> Iterator[LabelledSentence]:
    for number, line in lines:
        yield _parse_inline(name, number, line.lstrip("\ufeff"))


def _parse_inline(name: str, number: int, line: str) -> LabelledSentence:
    """Parse `[ORG Acme Inc] hired her .` into words and labels B-ORG I-ORG O O O."""
    words: list[str] = []
    labels: list[str] = []
    kind, begun = "", False
    for token in line.split():
        if _opens(token):
            if kind:
                raise DataError.at(name, number, f"{quote(token)} opens a bracket inside of [{kind}.")
            kind, begun = token[1:], True
            continue
        closes = bool(kind) and token.endswith("]")
        word = token.removesuffix("]") if closes else token
        if word:
            words.append(word)
            labels.append(f"{'B' if begun else 'I'}-{kind}" if kind else OUTSIDE)
            begun = False
        if closes:
            if begun:
                raise DataError.at(name, number, f"the bracket [{kind} has no words.")
            kind = ""
    if kind:
        raise DataError.at(name, number, f"the bracket {quote(f'[{kind}')} is not closed.")
    return LabelledSentence(words, labels, [number] * len(words))


def _opens(token: str) -> bool:
    return len(token) > 1 and token[0] == "[" and not token.endswith("]")


# ---- writing ----------------------------------------------------------------------------------------


class ProjectedSentence(NamedTuple):
    """Words with the labels that were carried to them."""

    words: Sequence[str]
    projection: Projection


def write_conll(sentence: ProjectedSentence, *, column: str, scores: bool) -> str:
    labels, confidence = sentence.projection
    rows = ([word, label, *([f"{sure:.4f}"] if scores else [])] for word, label, sure in
            zip(sentence.words, labels, confidence))  # fmt: skip
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def write_conllu(sentence: ProjectedSentence, *, column: str, scores: bool) -> str:
    """Write ten columns, empty except for the number, the word and the label; misc has the confidence."""
    labels, confidence = sentence.projection
    place = CONLLU.index(column if column in CONLLU[2:] else "upos")
    lines = []
    for k, (word, label, sure) in enumerate(zip(sentence.words, labels, confidence), 1):
        cells = [str(k), word, *[NO_TAG] * (len(CONLLU) - 2)]
        if scores:
            cells[-1] = f"Confidence={sure:.4f}"
        cells[place] = label
        lines.append("\t".join(cells) + "\n")
    return "".join(lines) + "\n"


def write_inline(sentence: ProjectedSentence, *, column: str, scores: bool) -> str:
    """Write `[ORG Acme Inc] hired her .`; tags stand behind the words, `dog/NN`."""
    labels, confidence = sentence.projection
    words = list(sentence.words)
    if not is_spans("auto", [*labels, "B-x"]):
        return " ".join(f"{word}/{label}" for word, label in zip(words, labels)) + "\n"
    for kind, first, end in spans(labels):
        mark = f"{kind}:{confidence[first]:.3f}" if scores else kind
        words[first] = f"[{mark} {words[first]}"
        words[end - 1] += "]"
    return " ".join(words) + "\n"


def write_json(sentence: ProjectedSentence, *, column: str, scores: bool) -> str:
    labels, confidence = sentence.projection
    found: dict[str, object] = {"tokens": list(sentence.words), "labels": labels}
    if scores:
        found["confidence"] = [round(sure, 4) for sure in confidence]
    if is_spans("auto", labels):
        found["spans"] = [{"label": kind, "start": a, "end": b} for kind, a, b in spans(labels)]
    return json.dumps(found) + "\n"


class LabelledFormat(NamedTuple):
    """How a labelled sentence is written."""

    name: str
    what: str
    write: Callable[..., str]


LABELLED_FORMATS: Registry[LabelledFormat] = Registry(
    "format",
    [
        LabelledFormat("conll", "a word and its label a line, a tab between them", write_conll),
        LabelledFormat("conllu", "ten columns", write_conllu),
        LabelledFormat("inline", "[ORG Acme] hired her, or dog/NN", write_inline),
        LabelledFormat("jsonl", "one object per sentence", write_json),
    ],
)


def check_same_words(path: StrPath, known: LabelledSentence, words: Sequence[str], where: str) -> None:
    """DataError if the words of a labelled sentence are not those of its text."""
    line = known.lines[0] if known.lines else 0
    if len(known.words) != len(words):
        raise DataError.at(
            path, line, f"the sentence has {len(known.words)} words, but {where} has {len(words)}."
        )
    for number, one, other in zip(known.lines, known.words, words):
        if one != other:
            raise DataError.at(
                path, number, f"the word is {quote(one)}, but in {where} it is {quote(other)}."
            )


def beside_labels(
    pairs: Iterable[FilePair], sentences: Iterable[LabelledSentence], names: tuple[str, StrPath]
) -> Iterator[tuple[FilePair, LabelledSentence]]:
    """Pairs and labelled sentences side by side; DataError if one of the two files ends too early."""
    number = 0
    for pair, sentence in zip_longest(pairs, sentences):
        if pair is None:
            raise DataError.at(
                names[0], number + 1, f"the text ends here, but {os.fspath(names[1])} goes on."
            )
        number = pair.number
        if sentence is None:
            raise DataError(
                f"{os.fspath(names[1])} ends before line {number} of {names[0]}: a sentence is missing."
            )
        yield pair, sentence
