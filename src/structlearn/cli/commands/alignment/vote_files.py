"""Links of other aligners, beside the pairs that they are of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.options import option

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.files.pair_files import FilePair
    from structlearn.alignment.gold.votes import Scores
    from structlearn.alignment.links import Aligned


@dataclass(frozen=True)
class VoteFiles:
    """Files of links, one per voter."""

    votes: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Links of another aligner, Pharaoh, with scores from 0 to 1 or without: in training of the gold "
            "pairs, which teach what they are worth. Repeat it for each aligner.",
        ),
    ] = None

    def files(self) -> list[Path]:
        """Return the files."""
        return list(self.votes or ())

    def check_for(self, aligner: Aligner) -> None:
        """ValueError unless these are as many as the model was trained with."""
        wanted, given = aligner.n_voters_, len(self.files())
        if wanted != given:
            raise ValueError(
                f"The model was trained with --votes of {wanted} other aligners, and got {given}; give those "
                "of the same aligners in the same order."
            )

    def beside(self, pairs: Iterable[FilePair]) -> Iterator[FilePair]:
        """Yield the pairs with their votes; DataError if a file has another number of lines."""
        from structlearn.alignment.files.pair_files import VotedFilePair
        from structlearn.alignment.links import read_aligned
        from structlearn.data import DataError

        if not self.votes:
            yield from pairs
            return
        with ExitStack() as stack:
            voters = [stack.enter_context(closing(read_aligned(path))) for path in self.votes]  # type: ignore[type-var]
            n = 0
            for n, pair in enumerate(pairs, 1):
                rows = [next(voter, None) for voter in voters]
                for path, row in zip(self.votes, rows):
                    if row is None:
                        raise DataError.at(path, n, "the file ends here, but there are more sentence pairs.")
                found = [_scores(path, pair, *row) for path, row in zip(self.votes, rows) if row is not None]
                voted = VotedFilePair(*pair)
                voted.votes = tuple(found)
                yield voted
            for path, voter in zip(self.votes, voters):
                if next(voter, None) is not None:
                    raise DataError.at(path, n + 1, f"there are only {n} sentence pairs.")


def _scores(path: Path, pair: FilePair, number: int, row: Aligned) -> Scores:
    """Return the score of each link of a line; DataError for links and scores that cannot be."""
    from structlearn.alignment.gold.votes import n_words, scores_of_links
    from structlearn.alignment.links import check_inside
    from structlearn.data import DataError

    check_inside(path, number, row.links, (n_words(pair.source), n_words(pair.target)))
    try:
        return scores_of_links(dict(zip(row.links, row.confidence)))
    except ValueError as error:
        raise DataError.at(path, number, str(error)) from None
