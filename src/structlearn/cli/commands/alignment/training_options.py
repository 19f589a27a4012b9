"""Options of `align train`: gold links, what links are like, word vectors, words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.commands.alignment.pair_text import MaxLength, TextFiles
from structlearn.cli.support.errors import say
from structlearn.cli.support.options import option, switch

if TYPE_CHECKING:
    from structlearn.alignment.files.pair_files import FilePair
    from structlearn.alignment.gold.vectors import MappedVectors, Vectors


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
    loss: Annotated[
        str, option("NAME", "How gold links are learned: softmax (log-loss of links), hinge, or auto.")
    ] = "softmax"
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
        say_mapped(mapped, str(self.dictionary))
        return mapped.vectors


@dataclass(frozen=True)
class WordOptions:
    """Which words are one, and how many a sentence may have."""

    keep_case: Annotated[bool, switch("--keep-case", "Tell House from house.")] = False
    strip_accents: Annotated[bool, switch("--strip-accents", "Look up words without their accents.")] = False
    max_length: MaxLength = 200
    tokenize: Annotated[
        str,
        option(
            "T[,T]",
            "How to split text; the model remembers it. {aligned_tokenizers}; auto: by its script. "
            "Two names are of the two sides.",
        ),
    ] = "none"

    def parameters(self, text: TextFiles) -> dict[str, Any]:
        """Return the parameters of the aligner; languages are those of the text."""
        names = self.tokenize.split(",")
        return {
            "lowercase": not self.keep_case,
            "strip_accents": self.strip_accents,
            "max_length": self.max_length,
            "tokenize": names[0] if len(names) == 1 else names,
            **text.spoken(),
        }


def say_mapped(mapped: MappedVectors, origin: str) -> None:
    """Say by how many word pairs vectors were mapped, and how well."""
    found = f"; of {mapped.asked} held-out words {mapped.precision:.0%} are found" if mapped.asked else ""
    say(f"Mapped the vectors by {mapped.known} word pairs of {origin}{found}.")
