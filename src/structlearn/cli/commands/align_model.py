"""`structlearn align train`, `apply` and `show`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.commands.align import align
from structlearn.cli.commands.align_runs import StatisticsRun
from structlearn.cli.commands.pair_text import (
    MaxLength,
    Model,
    Out,
    TextFiles,
    aligned_pairs,
    languages_doubted,
    load_aligner,
    warn_of_length,
)
from structlearn.cli.support.errors import fitting, handling_errors, say
from structlearn.cli.support.flags import said_by
from structlearn.cli.support.groups import spread_groups
from structlearn.cli.support.options import Jobs, Json, ModelOut, PageOut, option, switch
from structlearn.cli.support.outputs import (
    check_output,
    output_file,
    print_figures,
    printed_certificate,
    write_pieces,
)
from structlearn.core.wording import count_of

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.files.pair_files import FilePair, WrittenPair
    from structlearn.alignment.gold.vectors import MappedVectors, Vectors, Words
    from structlearn.alignment.links import Links
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.alignment.uses.page import AlignedPair

#: Pairs below which training says that it had little to learn from.
FEW_PAIRS = 100


@dataclass(frozen=True)
class GoldFiles:
    """Gold links and their sentences: all of them, in one file or in three, or none."""

    gold: Annotated[
        Path | None, option("FILE", "Gold links, Pharaoh or NAACL; or with their text, tsv, jsonl or tmx.")
    ] = None
    gold_source: Annotated[Path | None, option("FILE", "Their source sentences.", "--gold-src")] = None
    gold_target: Annotated[Path | None, option("FILE", "Their translations.", "--gold-tgt")] = None

    def given_files(self) -> list[Path]:
        """Return the files."""
        found = [path for path in (self.gold, self.gold_source, self.gold_target) if path is not None]
        if len(found) not in (0, 3) and not (len(found) == 1 and self._holds_text()):
            raise ValueError(
                "Gold links need all of --gold, --gold-src and --gold-tgt, or one file with text."
            )
        return found

    def _holds_text(self) -> bool:
        from structlearn.alignment.files.pair_files import format_by_name

        return self.gold is not None and format_by_name(self.gold, "pharaoh").read is not None

    def read(self) -> list[FilePair]:
        """Read the pairs with their links."""
        from structlearn.alignment.files.pair_files import FilePair, read_pair_file
        from structlearn.alignment.links import read_links
        from structlearn.alignment.text.pairs import read_pairs

        if self.gold is None or self.gold_source is None or self.gold_target is None:
            return [] if self.gold is None else list(read_pair_file(self.gold))
        pairs = list(read_pairs(self.gold_source, self.gold_target, allow_empty=True))
        links = read_links(self.gold, [(len(pair.source), len(pair.target)) for pair in pairs])
        return [FilePair(*pair, links=one) for pair, one in zip(pairs, links)]


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
        """Return the parameters of the aligner."""
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

    def given_files(self) -> list[Path]:
        """Return the files."""
        paths = (self.source_vectors, self.target_vectors, self.dictionary)
        return [path for path in paths if path is not None]

    def read(self) -> Vectors | None:
        """Read the vectors of both sides, mapped by the dictionary if there is one."""
        from structlearn.alignment.gold.vectors import map_by_file, read_vectors

        if self.source_vectors is None or self.target_vectors is None:
            if self.given_files() or self.one_space:
                raise ValueError("Word vectors need both --vectors-src and --vectors-tgt.")
            return None
        if self.dictionary is not None and self.one_space:
            raise ValueError("Give --dictionary or --one-space, not both.")
        vectors = read_vectors(self.source_vectors), read_vectors(self.target_vectors)
        if self.dictionary is None:
            return vectors
        mapped = map_by_file(vectors, self.dictionary)
        _say_mapped(mapped, str(self.dictionary))
        return mapped.vectors


@dataclass(frozen=True)
class WordOptions:
    """Which words are one, and how many a sentence may have."""

    keep_case: Annotated[bool, switch("--keep-case", "Tell House from house.")] = False
    strip_accents: Annotated[bool, switch("--strip-accents", "Look up words without their accents.")] = False
    max_length: MaxLength = 200


@align.command(
    "train",
    short_help="Train an aligner and print its certificate.",
    epilog="Example: structlearn align train --src text.en --tgt text.fr --gold gold.wa --gold-src gold.en "
    "--gold-tgt gold.fr --out model.safetensors",
)
@handling_errors()
@spread_groups
def train_aligner(
    text: TextFiles,
    out: ModelOut,
    gold: GoldFiles,
    links: LinkOptions,
    files: VectorFiles,
    words: WordOptions,
    run: StatisticsRun,
    seed: Annotated[int, option("N", "Seed of all random choices.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Train an aligner on parallel text and, if given, on gold links; write it to MODEL.

    The text gives statistics of which words translate which. Gold links of 100 to 200 pairs teach how to use
    them; their parameters are chosen by cross-validation. Without gold links a link is drawn where both
    directions agree on it. Prints the certificate of training, and the alignment error rate (AER) of
    the cross-validation. Pairs with an empty or a long side are left out.

    Text of any length trains in bounded memory with --memory. Ctrl-C ends training without a model; what
    --checkpoint has kept is not lost.
    """
    from structlearn.alignment.aligner import Aligner

    given = gold.given_files()
    links.check(given, files)
    out_file = check_output(out, others=[*text.files(), *given, *files.given_files(), *run.files()])
    long_run = run.parameters()
    earlier = run.earlier()
    run.check_room(text.files())
    vectors = files.read()
    aligner = Aligner(
        **links.parameters(),
        map_vectors=vectors is not None and files.dictionary is None and not files.one_space,
        lowercase=not words.keep_case,
        strip_accents=words.strip_accents,
        max_length=words.max_length,
        random_state=seed,
        **long_run,
    )
    with _naming(text, run.continue_):
        _fit(aligner, text, gold, vectors=vectors, earlier=earlier)
    if aligner.mapped_ is not None:
        _say_mapped(aligner.mapped_, "the text")
    aligner.save(out_file)
    say(f"Wrote the model to {out}.")
    print_figures(_figures(aligner).items(), as_json=as_json)


def _say_mapped(mapped: MappedVectors, origin: str) -> None:
    found = f"; of {mapped.asked} held-out words {mapped.precision:.0%} are found" if mapped.asked else ""
    say(f"Mapped the vectors by {mapped.known} word pairs of {origin}{found}.")


@contextmanager
def _naming(text: TextFiles, model: Path | None) -> Iterator[None]:
    """Rewrite the error about text of another form, so that it names the file, or that of the model."""
    from structlearn.alignment.text.form import OtherForm

    try:
        yield
    except OtherForm as error:
        side = text.source if error.side == "source" else text.target
        file = model if error.side is None else text.text or side
        raise ValueError(f"{file}: {said_by(error)}") from None


def _fit(
    aligner: Aligner,
    text: TextFiles,
    gold: GoldFiles,
    *,
    vectors: Vectors | None,
    earlier: Aligner | None,
) -> None:
    from structlearn.alignment.text.pairs import LengthLimit

    limit = LengthLimit(aligner.max_length)
    pairs = text.read() if earlier is None else languages_doubted(earlier, text.read())
    bitext = _words(limit.fitting_pairs(pairs))
    more: dict[str, Any] = {"vectors": vectors, "earlier": earlier}
    with fitting():
        if gold.gold is not None:
            known = list(LengthLimit(aligner.max_length).fitting_pairs(gold.read()))
            say(f"Read {count_of(len(known), 'pair')} with gold links from {gold.gold}.")
            aligner.fit(list(_words(known)), _gold_links(gold.gold, known), bitext, **more)
        elif aligner.pseudo_gold:
            aligner.fit(list(bitext), **more)
        else:
            aligner.fit([], None, bitext, **more)
    few = gold.gold is None and earlier is None and limit.total < FEW_PAIRS
    advice = " That is little: links are useful from a few hundred pairs on." if few else ""
    say(f"Read {count_of(limit.total, 'pair')} of text.{advice}")
    warn_of_length(limit, "were left out")
    if limit.empty:
        say(f"Left out {limit.empty} of {limit.total} pairs: a side is empty.")


def _words(pairs: Iterable[FilePair]) -> Iterator[Words]:
    return ((pair.source, pair.target) for pair in pairs)


def _gold_links(path: Path, pairs: list[FilePair]) -> list[Links]:
    from structlearn.data import DataError

    found = [pair.links for pair in pairs if pair.links is not None]
    if len(found) < len(pairs):
        number = next(pair.number for pair in pairs if pair.links is None)
        raise DataError.at(path, number, "the pair has no links; leave it out, or give it some.")
    return found


def _figures(aligner: Aligner) -> dict[str, object]:
    """Return what was counted, the cross-validated error, and the certificate, where there are such."""
    statistics = aligner.statistics_
    values: dict[str, object] = {
        "source_words": len(statistics.source_words),
        "target_words": len(statistics.target_words),
        "translations": len(statistics.lexicon.target),
    }
    if aligner.aer_ is not None:
        values["cross_validated_aer"] = aligner.aer_
    if aligner.text_aer_ is not None:
        values["cross_validated_aer_of_text"] = aligner.text_aer_
    return values if aligner.certificate_ is None else values | printed_certificate(aligner.certificate_)


@align.command(
    short_help="Align text, one line per pair.",
    epilog="Example: structlearn align apply model.safetensors --src new.en --tgt new.fr --out new.pharaoh",
)
@handling_errors()
@spread_groups
def apply(
    model: Model,
    text: TextFiles,
    scores: Annotated[
        bool, switch("--scores", "Write links as 0-1:0.93, with confidences from 0 to 1.")
    ] = False,
    out: Out = None,
    format: Annotated[
        str | None,
        option("F", "pharaoh, naacl, tsv, jsonl or tmx.  [default: by the name of --out, else pharaoh]"),
    ] = None,
    max_length: MaxLength = 200,
    jobs: Jobs = 1,
) -> None:
    """Write the links of each sentence pair as a Pharaoh line: 0-0 1-2, source-target, from 0.

    The text streams through. A pair with an empty side, or with one that is too long, gives an empty line.
    Other formats: naacl (one line per link), tsv (source, target and links between tabs), jsonl (an object
    per pair), tmx.
    """
    from structlearn.alignment.files.pair_files import PAIR_FORMATS, format_by_name
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.estimators.choices import threads

    out_file = output_file(out, [model, *text.files()])
    kind = format_by_name(out or "-", "pharaoh") if format is None else PAIR_FORMATS.entry(format)
    limit = LengthLimit(max_length)
    rows = aligned_pairs(
        load_aligner(model).set_params(n_jobs=threads(jobs)), text.read(), limit, scores=scores
    )
    write_pieces(kind.write(rows, text.languages), out_file)
    warn_of_length(limit, "were left unaligned")


@align.command(
    "show",
    short_help="Write a page that shows aligned pairs.",
    epilog="Example: structlearn align show model.safetensors --src test.en --tgt test.fr --gold test.wa "
    "--out page.html",
)
@handling_errors()
@spread_groups
def show_links(
    model: Model,
    text: TextFiles,
    out: PageOut,
    gold: Annotated[Path | None, option("FILE", "Gold links: then the worst pairs come first.")] = None,
    max_length: MaxLength = 200,
    as_json: Json = False,
) -> None:
    """Align text and write a page that draws the links; with gold links, print the alignment error rate."""
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.alignment.uses.page import alignment_page

    out_file = check_output(out, others=[model, *text.files(), *([gold] if gold else [])])
    aligner = load_aligner(model)
    limit = LengthLimit(max_length)
    found = list(aligned_pairs(aligner, text.read(), limit, scores=True))
    aligned, figures = _pairs_to_draw(found, gold, limit)
    alignment_page(aligned, tables=aligner.confidences).write(out_file)
    warn_of_length(limit, "are not drawn")
    say(f"Wrote the page to {out}.")
    print_figures(figures.items(), as_json=as_json)


def _pairs_to_draw(
    found: list[WrittenPair], gold: Path | None, limit: LengthLimit
) -> tuple[list[AlignedPair], dict[str, object]]:
    """Return the pairs as the page takes them, and what is printed of them."""
    from structlearn.alignment.links import read_links
    from structlearn.alignment.metrics import alignment_scores
    from structlearn.alignment.uses.page import AlignedPair

    right = None if gold is None else read_links(gold, [(len(one.source), len(one.target)) for one in found])
    links = [frozenset(one.links) for one in found]
    figures: dict[str, object] = {"pairs": len(found)}
    if right is not None:
        figures["aer"] = alignment_scores(right, links).aer
    rows = zip(found, links, repeat(None) if right is None else right)
    return [
        AlignedPair(one.source, one.target, own, known, dict(zip(one.links, one.confidence)), number)
        for number, (one, own, known) in enumerate(rows, 1)
        if max(len(one.source), len(one.target)) <= limit.max_length
    ], figures
