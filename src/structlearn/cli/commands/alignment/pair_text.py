"""Text of two sides as commands of `align` take it, and what they say of pairs too long or unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice, tee, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import say
from structlearn.cli.support.options import argument, option

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.files.pair_files import FilePair, PairFormat, WrittenPair
    from structlearn.alignment.files.tmx import Languages
    from structlearn.alignment.gold.vectors import Words
    from structlearn.alignment.links import Aligned
    from structlearn.alignment.text.pairs import LengthLimit, Splits

Model = Annotated[Path, argument("MODEL", "A file that `align train` wrote.")]
Out = Annotated[
    Path | None, option("FILE", "File to write, .gz or .zst by its name; - is stdout.  [default: stdout]")
]
MaxLength = Annotated[
    int, option("N", "A pair with a longer side is passed over: long ones are slow.", min=1)
]
LinkFormat = Annotated[
    str | None,
    option("F", "pharaoh, naacl, tsv, jsonl or tmx.  [default: by the name of --out, else pharaoh]"),
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

    def read(self, split: Splits | None = None) -> Iterator[FilePair]:
        """Read the pairs as they come, also those with an empty side; tokens stand between blanks."""
        from structlearn.alignment.files.pair_files import FilePair, read_pair_file
        from structlearn.alignment.text.pairs import AT_BLANKS, read_pairs

        self.files()
        split = split or AT_BLANKS
        if self.source is not None and self.target is not None:
            pairs = read_pairs(self.source, self.target, allow_empty=True, split=split)
            return (FilePair(*pair) for pair in pairs)
        return read_pair_file(str(self.text), self.text_format, self.languages, split)

    def first_texts(self) -> list[tuple[str, str]]:
        """Read the texts of first pairs, to see how they are written; ValueError for stdin."""
        if Path("-") in self.files():
            raise ValueError("--tokenize auto looks at the text first: for stdin, name the tokenizer.")
        with closing(self.read((_whole, _whole))) as pairs:  # type: ignore[type-var]
            return [("".join(one.source), "".join(one.target)) for one in islice(pairs, _LOOKED_AT)]

    def spoken(self) -> dict[str, str]:
        """Return the languages of both sides, as given or as the names of the files say."""
        from structlearn.cli.commands.alignment.group import language_of

        paths = (self.source, self.target)
        found = (given or (path and language_of(path)) or "" for given, path in zip(self.languages, paths))
        return dict(zip(("source_language", "target_language"), found))


def link_format(out: Path | None, name: str | None) -> PairFormat:
    """Return the format in which links are written, by its name or by that of the file."""
    from structlearn.alignment.files.pair_files import PAIR_FORMATS, format_by_name

    return format_by_name(out or "-", "pharaoh") if name is None else PAIR_FORMATS.entry(name)


def _whole(text: str) -> list[str]:
    return [text]


def load_aligner(model: Path) -> Aligner:
    from structlearn.alignment.aligner import Aligner

    return Aligner.load(model)


def read_for(aligner: Aligner, text: TextFiles) -> Iterator[FilePair]:
    """Read the pairs of a text as the model splits it."""
    from structlearn.alignment.text_statistics import splits_of

    return text.read(splits_of(aligner.tokenizers_))


def aligned_pairs(
    aligner: Aligner, pairs: Iterable[FilePair], limit: LengthLimit, *, scores: bool
) -> Iterator[WrittenPair]:
    """Yield the pairs with their links; one that is too long has none."""
    aligner.set_params(max_length=limit.max_length)
    return with_links(looked_at(aligner, pairs), limit, lambda words: aligner.align(words, scores=scores))


def with_links(
    pairs: Iterable[FilePair], limit: LengthLimit, align: Callable[[Iterator[Words]], Iterator[Aligned]]
) -> Iterator[WrittenPair]:
    """Yield the pairs with the links that `align` gives those that are not too long."""
    from structlearn.alignment.files.pair_files import WrittenPair

    kept, read = tee(pairs)
    words: Iterator[Words] = (pair.words() if limit.fits(pair) else ([], []) for pair in read)
    for pair, one in zip(kept, align(words)):
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
        self, read: Callable[[Splits | None], Iterable[FilePair]], limit: LengthLimit, *, scores: bool
    ) -> Iterator[WrittenPair]:
        """Return the pairs that `read` reads, split as the model does it, with their links."""
        from structlearn.alignment.text_statistics import splits_of

        self.files()
        if self.model is None:
            return _with_links(str(self.links), read(None))
        aligner = load_aligner(self.model)
        return aligned_pairs(aligner, read(splits_of(aligner.tokenizers_)), limit, scores=scores)


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
