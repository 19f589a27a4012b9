"""Votes: links of other aligners for the same pairs, as features of edges that gold links learn to weigh.

With v the score of an edge (1 where the other aligner gives none, 0 where it draws no link), its rivals are
the best v of other edges in its row and column: what the voter says of the two words instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from structlearn.alignment.gold.rivals import best_others, best_two
from structlearn.alignment.links import Link, Links
from structlearn.alignment.text.bitext import Bitext
from structlearn.alignment.text.tokenizers import SplitText
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

if TYPE_CHECKING:
    from structlearn.alignment.gold.vectors import Words

#: Features of one voter.
VOTE = ("vote", "vote_score", "vote_against", "vote_free")
#: Links of one pair as users give them: sets, `Links`, or scores between 0 and 1 by link.
Vote = Links | Iterable[Link] | Mapping[Link, float]
Votes = Sequence[Iterable[Vote]]
Scores = Mapping[Link, float]


class VotedPair(tuple[Sequence[str], Sequence[str]]):
    """A pair of (source words, target words), with the links of each voter."""

    votes: tuple[Scores, ...]

    @classmethod
    def of(cls, pair: Words, votes: Iterable[Vote]) -> VotedPair:
        """Attach votes; where a text was split, they are of the words that stand between blanks."""
        found = cls(pair)
        found.votes = tuple(_of_tokens(pair, scores_of_links(vote)) for vote in votes)
        return found


def vote_names(n_voters: int) -> list[str]:
    """Return the names of the features of that many voters, from 1."""
    return [f"{name}_{k}" for k in range(1, n_voters + 1) for name in VOTE]


def votes_of(pair: Words) -> tuple[Scores, ...]:
    """Return the votes that are attached to a pair, if any."""
    return pair.votes if isinstance(pair, VotedPair) else ()


def with_votes_of(pair: Words, words: Words) -> Words:
    """Return these words with the votes of a pair."""
    if not isinstance(pair, VotedPair):
        return words
    found = VotedPair(words)
    found.votes = pair.votes
    return cast("Words", found)


def kept_votes(pair: Words, words: Words, rows: Array, columns: Array) -> Words:
    """Return the words of some rows and columns of a pair with the votes between them."""
    at = {int(i): k for k, i in enumerate(rows)}, {int(j): k for k, j in enumerate(columns)}
    votes = [
        {(at[0][i], at[1][j]): score for (i, j), score in one.items() if i in at[0] and j in at[1]}
        for one in votes_of(pair)
    ]
    return cast("Words", VotedPair.of(words, votes)) if votes else words


def voted_pairs(pairs: Iterable[Words], votes: Votes | None) -> Iterator[Words]:
    """Stream pairs with the links of each voter; ValueError if one has fewer or more lines than pairs."""
    if not votes:
        yield from pairs
        return
    voters = [iter(one) for one in votes]
    n = 0
    for n, pair in enumerate(pairs, 1):
        found = [next(voter, None) for voter in voters]
        given = [one for one in found if one is not None]
        if len(given) < len(found):
            raise ValueError(f"Voter {found.index(None)} has links of {n - 1} pairs, but there are more.")
        yield cast("Words", VotedPair.of(pair, given))
    for k, voter in enumerate(voters):
        if next(voter, None) is not None:
            raise ValueError(f"Voter {k} has links of more than the {n} pairs.")


def scores_of_links(vote: Vote) -> Scores:
    """Return the score of each link; ValueError for one outside of 0 .. 1."""
    if isinstance(vote, Mapping):
        for link, score in vote.items():
            if not 0.0 <= score <= 1.0:
                raise ValueError(f"Scores of votes are between 0 and 1; link {link} has {score}.")
        return vote
    return dict.fromkeys(vote.possible if isinstance(vote, Links) else vote, 1.0)


def _of_tokens(pair: Words, scores: Scores) -> Scores:
    """Return links between tokens from links between the words that the tokens are in."""
    if not any(isinstance(side, SplitText) for side in pair):
        return scores
    rows, columns = (_tokens_of_words(side) for side in pair)
    return {
        (i, j): score for (a, b), score in scores.items() for i in rows.get(a, ()) for j in columns.get(b, ())
    }


def n_words(side: Sequence[str]) -> int:
    """Count the words that votes are of: of a text those between blanks."""
    return len(side.text.split()) if isinstance(side, SplitText) else len(side)


def _tokens_of_words(side: Sequence[str]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for token, word in enumerate(side.words() if isinstance(side, SplitText) else range(len(side))):
        found.setdefault(word, []).append(token)
    return found


def vote_tables(bitext: Bitext, pairs: Sequence[Words], n_voters: int) -> Array:
    """Return the scores of all cells, (n_cells, n_voters); ValueError for a link outside of its pair."""
    scores = np.zeros((bitext.n_cells, n_voters))
    for pair, first in zip(pairs, bitext.cell_start.tolist()):
        m, n = len(pair[0]), len(pair[1])
        if not m * n:
            continue
        votes = votes_of(pair)
        if len(votes) != n_voters:
            raise ValueError(
                f"The model weighs the links of {n_voters} other aligners, but got those of {len(votes)}: "
                "give votes as in training (--votes of `align apply`)."
            )
        for k, vote in enumerate(votes):
            for (i, j), score in vote.items():
                if not (0 <= i < m and 0 <= j < n):
                    raise ValueError(f"Voter {k} has a link ({i}, {j}) in a pair of {m} and {n} words.")
                scores[first + i * n + j, k] = score
    return scores


@kernel
def fill_votes(shapes: Array, scores: Array, free: Array, out: Array) -> None:
    """out[e] <- the features of edge e: those of each voter, one voter behind the other.

    free : how free both words are, by the statistics, of other links
    """
    at = 0
    for pair in range(shapes.shape[0]):
        m, n = shapes[pair]
        if m * n == 0:
            continue
        for k in range(scores.shape[1]):
            table = np.ascontiguousarray(scores[at : at + m * n, k]).reshape(m, n)
            voted = best_two(table)
            for i in range(m):
                for j in range(n):
                    e, v, first = at + i * n + j, table[i, j], 4 * k
                    row, column = best_others(voted, i, j, v)
                    out[e, first], out[e, first + 1] = v > 0.0, v
                    out[e, first + 2], out[e, first + 3] = max(row, column), v * free[e]
        at += m * n
