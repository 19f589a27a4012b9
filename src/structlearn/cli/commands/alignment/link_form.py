"""What links `align` writes, and between which words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.commands.alignment.pair_text import TextFiles, looked_at, read_for
from structlearn.cli.support.options import option, switch

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.files.pair_files import FilePair, WrittenPair
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.cli.commands.alignment.vote_files import VoteFiles

#: Tokenizers of scripts that are written without blanks.
_WITHOUT_BLANKS = {"characters", "icu"}


@dataclass(frozen=True)
class LinkForm:
    """What links are written."""

    scores: Annotated[bool, switch("--scores", "Write links as 0-1:0.93, with confidences from 0 to 1.")] = (
        False
    )
    links_of: Annotated[
        str | None,
        option(
            "W",
            "blanks: between the words that stand between blanks; tokens: between the tokens of the model.  "
            "[default: blanks, but tokens if a side is written without blanks]",
        ),
    ] = None
    symmetrize: Annotated[
        str | None,
        option(
            "RULE",
            "Join the links of both directions: intersect, union, grow-diag, grow-diag-final or "
            "grow-diag-final-and.  [default: our own links, which are better]",
        ),
    ] = None

    def check(self) -> None:
        """ValueError for names that do not exist."""
        from structlearn.alignment.uses.symmetrized import RULES
        from structlearn.core.registry import one_of

        one_of("--links-of", self.links_of or "blanks", ("blanks", "tokens"))
        one_of("--symmetrize", self.symmetrize or "union", RULES)

    def pairs(
        self, aligner: Aligner, text: TextFiles, limit: LengthLimit, votes: VoteFiles | None = None
    ) -> Iterator[WrittenPair]:
        """Yield the pairs of a text with their links; one that is too long has none."""
        from structlearn.alignment.uses.blanks import between_blanks

        pairs = read_for(aligner, text)
        found = self._linked(aligner, pairs if votes is None else votes.beside(pairs), limit)
        return map(between_blanks, found) if self._of_blanks(aligner) else found

    def _of_blanks(self, aligner: Aligner) -> bool:
        if self.links_of is None:
            return not _WITHOUT_BLANKS & {one.name for one in aligner.tokenizers_}
        return self.links_of == "blanks"

    def _linked(
        self, aligner: Aligner, pairs: Iterator[FilePair], limit: LengthLimit
    ) -> Iterator[WrittenPair]:
        from structlearn.alignment.uses.symmetrized import RULES, symmetrized
        from structlearn.cli.commands.alignment.pair_text import aligned_pairs, with_links

        if self.symmetrize is None:
            return aligned_pairs(aligner, pairs, limit, scores=self.scores)
        rule = RULES[self.symmetrize]
        return with_links(
            looked_at(aligner, pairs),
            limit,
            lambda words: symmetrized(aligner, words, rule, scores=self.scores),
        )
