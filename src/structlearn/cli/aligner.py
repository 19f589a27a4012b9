"""`structlearn align train`, `apply` and `show`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.alignment import Source, Target, align
from structlearn.cli.errors import fitting, handling_errors, say
from structlearn.cli.groups import grouped
from structlearn.cli.options import ModelOut, PageOut, argument, option, switch
from structlearn.cli.outputs import check_output, print_values, write_output

if TYPE_CHECKING:
    from structlearn.apps.alignment.aligner import Aligned, Aligner
    from structlearn.apps.alignment.page import AlignedPair
    from structlearn.apps.alignment.vectors import MappedVectors, Vectors, Words

Model = Annotated[Path, argument("MODEL", "A file that `align train` wrote.")]
MaxLength = Annotated[int, option("N", "A sentence of more words is an error: long ones are slow.", min=1)]
#: Words of the first so many pairs are looked up, to see whether the model knows the language.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class GoldFiles:
    """Gold links and their sentences: all of them, or none."""

    gold: Annotated[Path | None, option("FILE", "Gold links, Pharaoh or NAACL.")] = None
    gold_source: Annotated[Path | None, option("FILE", "Their source sentences.", "--gold-src")] = None
    gold_target: Annotated[Path | None, option("FILE", "Their translations.", "--gold-tgt")] = None

    def given(self) -> list[Path]:
        """The files."""
        found = [path for path in (self.gold, self.gold_source, self.gold_target) if path is not None]
        if len(found) not in (0, 3):
            raise ValueError("Gold links need all of --gold, --gold-src and --gold-tgt.")
        return found


@dataclass(frozen=True)
class LinkOptions:
    """What links are like, and how they are learnt."""

    fertility: Annotated[
        int | None, option("K", "Most links of a word.  [default: 2 with gold links, else no bound]")
    ] = None
    pseudo_gold: Annotated[
        bool, switch("--pseudo-gold", "Without gold: train on the confident links of the text.")
    ] = False
    nearest_gold: Annotated[
        bool, switch("--nearest-gold", "Without gold: train on links of nearest word vectors.")
    ] = False
    regularization: Annotated[float | None, option("X", "Lambda.  [default: by cross-validation]")] = None
    missed: Annotated[float | None, option("X", "Cost of a missed link.  [default: by cross-validation]")] = (
        None
    )
    spurious: Annotated[float, option("X", "Cost of a spurious link.")] = 1.0

    def check(self, gold: list[Path], vectors: VectorFiles) -> None:
        """ValueError for gold links from two places, or from none."""
        if (self.pseudo_gold or self.nearest_gold) and gold:
            raise ValueError("Give gold links or --pseudo-gold (--nearest-gold), not both.")
        if self.pseudo_gold and self.nearest_gold:
            raise ValueError("Give --pseudo-gold or --nearest-gold, not both.")
        if self.nearest_gold and vectors.source_vectors is None:
            raise ValueError("--nearest-gold needs --vectors-src and --vectors-tgt.")

    def parameters(self) -> dict[str, Any]:
        """Those of the aligner."""
        given = asdict(self)
        nearest = given.pop("nearest_gold")
        return {**given, "pseudo_gold": "nearest"} if nearest else given


@dataclass(frozen=True)
class VectorFiles:
    """Where word vectors come from, and how they are brought into one space."""

    source_vectors: Annotated[
        Path | None, option("FILE", "Word vectors of the source, fastText's format.", "--vectors-src")
    ] = None
    target_vectors: Annotated[Path | None, option("FILE", "Word vectors of the target.", "--vectors-tgt")] = (
        None
    )
    dictionary: Annotated[
        Path | None,
        option(
            "FILE",
            "Word pairs by which to map the vectors.  [default: translations that the text is sure of]",
        ),
    ] = None
    one_space: Annotated[
        bool, switch("--one-space", "The vectors of both sides are in one space: no map.")
    ] = False

    def given(self) -> list[Path]:
        """The files."""
        paths = (self.source_vectors, self.target_vectors, self.dictionary)
        return [path for path in paths if path is not None]

    def read(self) -> Vectors | None:
        """The vectors of both sides, mapped by the dictionary if there is one."""
        from structlearn.apps.alignment.vectors import map_vectors, read_dictionary, read_vectors

        if self.source_vectors is None or self.target_vectors is None:
            if self.given() or self.one_space:
                raise ValueError("Word vectors need both --vectors-src and --vectors-tgt.")
            return None
        if self.dictionary is not None and self.one_space:
            raise ValueError("Give --dictionary or --one-space, not both.")
        pairs = None if self.dictionary is None else read_dictionary(self.dictionary)
        vectors = read_vectors(self.source_vectors), read_vectors(self.target_vectors)
        if pairs is None:
            return vectors
        mapped = map_vectors(vectors, pairs)
        _say_mapped(mapped, str(self.dictionary))
        return mapped.vectors


@dataclass(frozen=True)
class WordOptions:
    """Which words are one, and how many a sentence may have."""

    keep_case: Annotated[bool, switch("--keep-case", "Tell House from house.")] = False
    strip_accents: Annotated[bool, switch("--strip-accents", "Look up words without their accents.")] = False
    max_length: MaxLength = 200


@align.command(
    short_help="Train an aligner and print its certificate.",
    epilog="Example: structlearn align train --src text.en --tgt text.fr --gold gold.wa --gold-src gold.en "
    "--gold-tgt gold.fr --out model.safetensors",
)
@handling_errors()
@grouped
def train(
    source: Source,
    target: Target,
    out: ModelOut,
    gold: GoldFiles,
    links: LinkOptions,
    files: VectorFiles,
    words: WordOptions,
    jobs: Annotated[int, option("N", "Threads for the statistics.", min=1)] = 1,
    seed: Annotated[int, option("N", "Seed of all random choices.", min=0)] = 0,
) -> None:
    """Train an aligner on line-aligned text and, if given, on gold links; write it to MODEL.

    The text gives statistics of which words translate which. Gold links of 100 to 200 pairs teach how to use
    them; their parameters are chosen by cross-validation. Without gold links a link is drawn where both
    directions agree on it. Prints the certificate of training, and the alignment error rate (AER) of
    the cross-validation.
    """
    from structlearn.apps.alignment.aligner import Aligner

    given = gold.given()
    links.check(given, files)
    out_file = check_output(out, others=[source, target, *given, *files.given()])
    vectors = files.read()
    aligner = Aligner(
        **links.parameters(),
        map_vectors=vectors is not None and files.dictionary is None and not files.one_space,
        lowercase=not words.keep_case,
        strip_accents=words.strip_accents,
        n_jobs=jobs,
        random_state=seed,
    )
    _fit(aligner, partial(_pairs, max_length=words.max_length), (source, target), given, vectors)
    if aligner.mapped_ is not None:
        _say_mapped(aligner.mapped_, "the text")
    aligner.save(out_file)
    say(f"Wrote the model to {out}.")
    _print_certificate(aligner)


def _say_mapped(mapped: MappedVectors, origin: str) -> None:
    found = f"; of {mapped.asked} held-out words {mapped.precision:.0%} are found" if mapped.asked else ""
    say(f"Mapped the vectors by {mapped.known} word pairs of {origin}{found}.")


def _fit(
    aligner: Aligner,
    read: Callable[..., Iterator[Words]],
    text: tuple[Path, Path],
    gold: list[Path],
    vectors: Vectors | None,
) -> None:
    from structlearn.apps.alignment.links import read_links

    with fitting():
        if gold:
            pairs = list(read(gold[1], gold[2]))
            links = read_links(gold[0], [(len(e), len(f)) for e, f in pairs])
            say(f"Read {len(pairs)} pairs with gold links from {gold[0]}.")
            aligner.fit(pairs, links, read(*text), vectors=vectors)
        elif aligner.pseudo_gold:
            aligner.fit(list(read(*text)), vectors=vectors)
        else:
            aligner.fit([], None, read(*text), vectors=vectors)


def _pairs(source: Path, target: Path, max_length: int, *, allow_empty: bool = False) -> Iterator[Words]:
    from structlearn.apps.alignment.text import read_pairs

    pairs = read_pairs(source, target, allow_empty=allow_empty, max_length=max_length)
    return ((pair.source, pair.target) for pair in pairs)


def _print_certificate(aligner: Aligner) -> None:
    statistics = aligner.statistics_
    values: dict[str, object] = {
        "source_words": len(statistics.source_words),
        "target_words": len(statistics.target_words),
        "translations": len(statistics.lexicon.target),
    }
    if aligner.aer_ is not None:
        values["cross_validated_aer"] = aligner.aer_
    print_values(values.items())
    if aligner.certificate_ is not None:
        print(aligner.certificate_)


@align.command(
    short_help="Align text, one line a pair.",
    epilog="Example: structlearn align apply model.safetensors --src new.en --tgt new.fr --out new.pharaoh",
)
@handling_errors()
def apply(
    model: Model,
    source: Source,
    target: Target,
    scores: Annotated[
        bool, switch("--scores", "Write links as 0-1:0.93, with confidences from 0 to 1.")
    ] = False,
    out: Annotated[Path | None, option("FILE", "File to write.  [default: stdout]")] = None,
    max_length: MaxLength = 200,
) -> None:
    """Write the links of each sentence pair as a Pharaoh line: 0-0 1-2, source-target, from 0.

    The text streams through. A pair with an empty side gives an empty line.
    """
    out_file = out and check_output(out, others=[model, source, target])
    aligner = _load(model)
    pairs = _looked_at(aligner, _pairs(source, target, max_length, allow_empty=True))
    write_output(map(_line, aligner.align(pairs, scores=scores)), out_file)


def _load(model: Path) -> Aligner:
    from structlearn.apps.alignment.aligner import Aligner

    return Aligner.load(model)


def _line(aligned: Aligned) -> str:
    if aligned.confidence:
        return " ".join(f"{i}-{j}:{sure:.3f}" for (i, j), sure in zip(aligned.links, aligned.confidence))
    return " ".join([f"{i}-{j}" for i, j in aligned.links])


def _looked_at(aligner: Aligner, pairs: Iterable[Words]) -> Iterator[Words]:
    """The pairs; a warning where most words of the first ones are unknown."""
    stream = iter(pairs)
    first = list(islice(stream, _LOOKED_AT))
    unknown, words = aligner.unknown_words(first)
    if 2 * unknown > words:
        say(
            f"Warning: the model does not know {unknown / words:.0%} of the words; was it trained on these "
            "languages, in this order, and on text of this form?"
        )
    return chain(first, stream)


@align.command(
    short_help="Write a page that shows aligned pairs.",
    epilog="Example: structlearn align show model.safetensors --src test.en --tgt test.fr --gold test.wa "
    "--out page.html",
)
@handling_errors()
def show(
    model: Model,
    source: Source,
    target: Target,
    out: PageOut,
    gold: Annotated[Path | None, option("FILE", "Gold links: then the worst pairs come first.")] = None,
    max_length: MaxLength = 200,
) -> None:
    """Align text and write a page that draws the links; with gold links, print the alignment error rate."""
    from structlearn.apps.alignment.page import alignment_page

    out_file = check_output(out, others=[model, source, target, *([gold] if gold else [])])
    aligner = _load(model)
    pairs = list(_looked_at(aligner, _pairs(source, target, max_length, allow_empty=True)))
    aligned, figures = _drawn(aligner, pairs, gold)
    alignment_page(aligned).write(out_file)
    say(f"Wrote the page to {out}.")
    print_values(figures.items())


def _drawn(
    aligner: Aligner, pairs: list[Words], gold: Path | None
) -> tuple[list[AlignedPair], dict[str, object]]:
    """The pairs as the page takes them, and what is printed of them."""
    from structlearn.apps.alignment.links import read_links
    from structlearn.apps.alignment.metrics import alignment_scores
    from structlearn.apps.alignment.page import AlignedPair

    right = None if gold is None else read_links(gold, [(len(e), len(f)) for e, f in pairs])
    found = aligner.predict(pairs)
    rows = zip(pairs, found, repeat(None) if right is None else right, aligner.confidences(pairs))
    figures: dict[str, object] = {"pairs": len(pairs)}
    if right is not None:
        figures["aer"] = alignment_scores(right, found).aer
    return [AlignedPair(e, f, links, known, table) for (e, f), links, known, table in rows], figures
