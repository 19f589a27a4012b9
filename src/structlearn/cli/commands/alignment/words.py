"""`structlearn align phrases` and `align dictionary`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.commands.alignment.group import align
from structlearn.cli.commands.alignment.pair_text import (
    LinkSource,
    MaxLength,
    Model,
    Out,
    TextFiles,
    load_aligner,
    warn_of_length,
)
from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.groups import spread_groups
from structlearn.cli.support.options import option
from structlearn.cli.support.outputs import check_output, output_file, write_pieces
from structlearn.core.registry import one_of

if TYPE_CHECKING:
    from structlearn.alignment.uses.dictionary import Translation
    from structlearn.alignment.uses.phrases import PhrasePair


@align.command(
    short_help="Write the phrase pairs of a text with their probabilities.",
    epilog="Example: structlearn align phrases model.safetensors --src text.en --tgt text.fr "
    "--out table.tsv.gz",
)
@handling_errors()
@spread_groups
def phrases(
    given: LinkSource,
    text: TextFiles,
    out: Out = None,
    format: Annotated[str, option("F", "tsv, moses or jsonl.")] = "tsv",
    phrase_length: Annotated[int, option("N", "Most words of a phrase.", min=1)] = 7,
    min_count: Annotated[int, option("N", "Leave out rarer phrase pairs.", min=1)] = 1,
    memory: Annotated[str, option("SIZE", "Memory to take, about; the rest is sorted on disk.")] = "500MB",
    max_length: MaxLength = 200,
) -> None:
    """Write phrase pairs that no link leads out of, with counts and probabilities, by source phrase.

    A line has source, target, count, p(target | source) and p(source | target) between tabs. moses writes a
    phrase table: source ||| target ||| p(source | target) p(target | source) ||| ||| counts of target,
    source and both. The text streams through; a sorted part waits in the folder for temporary files.
    """
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.alignment.uses.phrases import counted_phrases
    from structlearn.core.memory import parse_size

    write = _PHRASES[one_of("format", format, _PHRASES)]
    out_file = output_file(out, [*given.files(), *text.files()])
    limit, room = LengthLimit(max_length), parse_size(memory)
    rows = given.pairs_with_links(text.read, limit, scores=False)
    found = counted_phrases(
        ((one.source, one.target, one.links) for one in rows),
        max_length=phrase_length,
        min_count=min_count,
        memory=room,
    )
    write_pieces(map(write, found), out_file)
    warn_of_length(limit, "were passed over")


def _tsv(one: PhrasePair) -> str:
    return f"{one.source}\t{one.target}\t{one.count}\t{one.forward:.6g}\t{one.backward:.6g}\n"


def _moses(one: PhrasePair) -> str:
    counts = f"{round(one.count / one.backward)} {round(one.count / one.forward)} {one.count}"
    phrases = " ||| ".join(text.replace("|", "&#124;") for text in (one.source, one.target))
    return f"{phrases} ||| {one.backward:.6g} {one.forward:.6g} ||| ||| {counts}\n"


def _json(one: PhrasePair | Translation) -> str:
    return json.dumps(asdict(one)) + "\n"


_PHRASES: dict[str, Callable[[PhrasePair], str]] = {"tsv": _tsv, "moses": _moses, "jsonl": _json}


@align.command(
    short_help="Write the lexical shortlists of a translation system.",
    epilog="Example: structlearn align shortlist model.safetensors --src text.en --tgt text.fr --out lex",
)
@handling_errors()
@spread_groups
def shortlist(
    given: LinkSource,
    text: TextFiles,
    out: Annotated[Path, option("PREFIX", "Write PREFIX.s2t and PREFIX.t2s.")],
    most: Annotated[int, option("N", "Most words of the other side per word.", min=1)] = 100,
    source_pieces: Annotated[
        Path | None, option("FILE", "SentencePiece model: count pieces of words.", "--pieces-src")
    ] = None,
    target_pieces: Annotated[
        Path | None, option("FILE", "The same for the target side.", "--pieces-tgt")
    ] = None,
    max_length: MaxLength = 200,
) -> None:
    """Count which words are linked, and write for each word the likeliest of the other side.

    Lines of PREFIX.s2t are target, source, p(target | source), those of PREFIX.t2s source, target,
    p(source | target), as Marian and Bergamot read them. Words are those between blanks; with SentencePiece
    models each piece of a word is counted with each piece of the words that it is linked to.
    """
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.alignment.uses.blanks import between_blanks
    from structlearn.alignment.uses.shortlist import ROOM, count_links, pieces_of, shortlist_lines
    from structlearn.alignment.uses.sorted_counts import Sorter

    outputs = [Path(f"{out}.s2t"), Path(f"{out}.t2s")]
    for path in outputs:
        check_output(path, others=[*given.files(), *text.files()])
    pieces = pieces_of(source_pieces), pieces_of(target_pieces)
    limit = LengthLimit(max_length)
    rows = map(between_blanks, given.pairs_with_links(text.read, limit, scores=False))
    with Sorter(ROOM) as by_source, Sorter(ROOM) as by_target:
        count_links(rows, pieces, (by_source, by_target))
        for path, sorter in zip(outputs, (by_source, by_target)):
            write_pieces(shortlist_lines(sorter, most), path)
    warn_of_length(limit, "were passed over")


@align.command(
    short_help="Write a bilingual word list with scores.",
    epilog="Example: structlearn align dictionary model.safetensors --min-score 0.2 --out words.tsv",
)
@handling_errors()
def dictionary(
    model: Model,
    out: Out = None,
    format: Annotated[
        str, option("F", "tsv, jsonl, or words (the words alone, as --dictionary takes them).")
    ] = "tsv",
    min_score: Annotated[
        float, option("X", "Least sqrt(p(target | source) p(source | target)).", min=0)
    ] = 0.1,
    min_count: Annotated[int, option("N", "Sentence pairs that have both words.", min=0)] = 2,
    top: Annotated[int, option("N", "Most translations of a word.", min=1)] = 5,
) -> None:
    """Write the words that translate each other, frequent source words first, as the model looks them up.

    A line has source, target, score, p(target | source), p(source | target) and the number of sentence pairs
    that have both, between tabs. The score is the geometric mean of the two probabilities.
    """
    write = _WORDS[one_of("format", format, _WORDS)]
    out_file = output_file(out, [model])
    found = load_aligner(model).dictionary(min_score=min_score, min_count=min_count, top=top)
    write_pieces(map(write, found), out_file)


def _score_line(one: Translation) -> str:
    figures = f"{one.score:.4f}\t{one.forward:.4f}\t{one.backward:.4f}\t{one.together}"
    return f"{one.source}\t{one.target}\t{figures}\n"


def _words(one: Translation) -> str:
    return f"{one.source}\t{one.target}\n"


_WORDS: dict[str, Callable[[Translation], str]] = {"tsv": _score_line, "jsonl": _json, "words": _words}
