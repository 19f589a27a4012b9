"""Text of two sides as commands of `align` take it, and what they say of pairs too long or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, tee, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import say
from structlearn.cli.support.options import argument, option

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.files.pair_files import FilePair, WrittenPair
    from structlearn.alignment.files.tmx import Languages
    from structlearn.alignment.text.pairs import LengthLimit

Model = Annotated[Path, argument("MODEL", "A file that `align train` wrote.")]
Out = Annotated[
    Path | None, option("FILE", "File to write, .gz or .zst by its name; - is stdout.  [default: stdout]")
]
MaxLength = Annotated[
    int, option("N", "A pair with a longer side is passed over: long ones are slow.", min=1)
]
#: This many first pairs are looked at, to see whether the model knows the language.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class TextFiles:
    """Two line-aligned files, or one file that holds both sides."""

    source: Annotated[
        Path | None,
        option("FILE", "Source sentences, one per line, plain, .gz or .zst; - for stdin.", "--src"),
    ] = None
    target: Annotated[
        Path | None, option("FILE", "Their translations, line by line; one side may be -.", "--tgt")
    ] = None
    text: Annotated[
        Path | None, option("FILE", "Both sides in one file: tab-separated, JSON lines or TMX; - for stdin.")
    ] = None
    text_format: Annotated[
        str | None, option("F", "tsv, jsonl or tmx.  [default: by the name of the file, else tsv]")
    ] = None
    source_language: Annotated[
        str | None, option("L", "The source's language in TMX, or its key in JSON lines.", "--src-language")
    ] = None
    target_language: Annotated[str | None, option("L", "The target's language or key.", "--tgt-language")] = (
        None
    )

    def files(self) -> list[Path]:
        """Return the files that are given; ValueError unless they are both sides."""
        sides = [path for path in (self.source, self.target) if path is not None]
        if len(sides) == 2 and self.text is None:
            return sides
        if not sides and self.text is not None:
            return [self.text]
        raise ValueError("Give the text as --src and --tgt, or as --text.")

    @property
    def name(self) -> str:
        """What errors call the text."""
        return str(self.source or self.text)

    @property
    def languages(self) -> Languages:
        """What the sides are called."""
        return self.source_language, self.target_language

    def read(self) -> Iterator[FilePair]:
        """Read the pairs as they come, also those with an empty side."""
        from structlearn.alignment.files.pair_files import FilePair, read_pair_file
        from structlearn.alignment.text.pairs import read_pairs

        self.files()
        if self.source is not None and self.target is not None:
            return (FilePair(*pair) for pair in read_pairs(self.source, self.target, allow_empty=True))
        return read_pair_file(str(self.text), self.text_format, self.languages)


def load_aligner(model: Path) -> Aligner:
    from structlearn.alignment.aligner import Aligner

    return Aligner.load(model)


def aligned_pairs(
    aligner: Aligner, pairs: Iterable[FilePair], limit: LengthLimit, *, scores: bool
) -> Iterator[WrittenPair]:
    """Yield the pairs with their links; one that is too long has none."""
    from structlearn.alignment.files.pair_files import WrittenPair

    aligner.set_params(max_length=limit.max_length)
    kept, read = tee(looked_at(aligner, pairs))
    words = ((pair.source, pair.target) if limit.fits(pair) else ([], []) for pair in read)
    for pair, one in zip(kept, aligner.align(words, scores=scores)):
        yield WrittenPair(pair.source, pair.target, one.links, one.confidence)


@dataclass(frozen=True)
class LinkSource:
    """Where links come from: a model, or a file."""

    model: Annotated[Path | None, argument("MODEL", "A file that `align train` wrote; or give --links.")] = (
        None
    )
    links: Annotated[Path | None, option("FILE", "Links of the text, Pharaoh, instead of a model's.")] = None

    def files(self) -> list[Path]:
        """Return the one that is given; ValueError if that is not one."""
        found = [path for path in (self.model, self.links) if path is not None]
        if len(found) != 1:
            raise ValueError("Give a model, or links with --links; not both.")
        return found

    def pairs_with_links(
        self, pairs: Iterable[FilePair], limit: LengthLimit, *, scores: bool
    ) -> Iterator[WrittenPair]:
        """Return the pairs with their links."""
        self.files()
        if self.model is not None:
            return aligned_pairs(load_aligner(self.model), pairs, limit, scores=scores)
        return _with_links(str(self.links), pairs)


def _with_links(path: str, pairs: Iterable[FilePair]) -> Iterator[WrittenPair]:
    from structlearn.alignment.files.pair_files import WrittenPair
    from structlearn.alignment.links import check_inside, read_aligned
    from structlearn.data import DataError

    number = 0
    for pair, row in zip_longest(pairs, read_aligned(path)):
        if pair is None or row is None:
            raise DataError.at(path, number + 1, f"there are {'more' if row else 'fewer'} lines than pairs.")
        number, one = row
        check_inside(path, number, one.links, (len(pair.source), len(pair.target)))
        yield WrittenPair(pair.source, pair.target, one.links, one.confidence)


def warn_of_length(limit: LengthLimit, done: str) -> None:
    """Warn once of all pairs that were too long."""
    said = limit.sentence(done)
    if said is not None:
        say(f"Warning: {said}")


def looked_at(aligner: Aligner, pairs: Iterable[FilePair]) -> Iterator[FilePair]:
    """Return the pairs; warnings where the first ones are of other languages, or written otherwise."""
    from structlearn.alignment.text.doubts import doubt_whole_lines

    stream = languages_doubted(aligner, pairs)
    first = list(islice(stream, _LOOKED_AT))
    doubt_whole_lines([(pair.source, pair.target) for pair in first])
    _warn_of_accents(aligner, first)
    return chain(first, stream)


def languages_doubted(aligner: Aligner, pairs: Iterable[FilePair]) -> Iterator[FilePair]:
    """Return the pairs; a warning where the first ones are of other languages."""
    from structlearn.alignment.text.doubts import doubt_languages

    stream = iter(pairs)
    first = list(islice(stream, _LOOKED_AT))
    doubt_languages(aligner, [(pair.source, pair.target) for pair in first])
    return chain(first, stream)


def _warn_of_accents(aligner: Aligner, pairs: list[FilePair]) -> None:
    """Warn of text that has lost its accents: these can be removed from new text, but not added."""
    from structlearn.alignment.text.form import lacks

    for side, form in zip(("source", "target"), aligner.forms_):
        if lacks(form, [word for pair in pairs for word in getattr(pair, side)]) == "accents":
            say(
                f"Warning: the {side} text has no accents, but that of the model has; words that lost theirs "
                "are not known."
            )
