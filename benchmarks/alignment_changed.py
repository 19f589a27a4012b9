"""Word alignment of texts unlike those we have: XL-WA's train parts, changed.

    python benchmarks/alignment_changed.py [--eflomal COMMAND] [--languages it hu] [--lines 300 1000]
                                           [--gold 20 100 300] [--only NAME ...]

The target side is written in Chinese letters (as words, or one letter a token), its order is changed (blocks,
backwards, at random), its words get endings or beginnings at random, words go missing on both sides, half of
the sure links become possible, four lines become one. Error rates are of all lines that the statistics are
of, without gold links. With `--gold`: of the first 200 of 500 lines, with gold links of so many others.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Any

from alignment_sizes import eflomal, xlwa
from common import machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores

Gold = tuple[list[Any], list[Links]]
Change = Callable[[Gold, random.Random], Gold]

MARKS = dict(zip(',.?!:;()"', "，。？！：；（）”"))
ENDINGS = ("", "a", "as", "om", "ing", "nek", "val", "iak", "ul", "et")
BEGINNINGS = ("", "wa", "ni", "ku", "bi", "al", "ha", "me", "li", "u")
N_LETTERS = 1500
AT_ONCE = 4


def chinese(word: str) -> str:
    """One to three letters in place of a word, always the same."""
    if word in MARKS or word.isdigit():
        return MARKS.get(word, word)
    number = int(hashlib.md5(word.encode()).hexdigest(), 16)
    n = 1 if len(word) <= 3 else 2 if number % 3 else 3
    return "".join(chr(0x4E00 + (number >> (20 * (k + 1))) % N_LETTERS) for k in range(n))


def moved(links: Links, places: Sequence[Sequence[int]]) -> Links:
    """The links after target word j has become the words at places[j]."""
    sure, possible = ([(i, k) for i, j in some for k in places[j]] for some in (links.sure, links.possible))
    return Links.of(sure, possible)


def by_target(change: Callable[[list[str], random.Random], tuple[list[str], Any]]) -> Change:
    """A change of the target words that also says where each has gone."""

    def changed(gold: Gold, rng: random.Random) -> Gold:
        found = [change(pair[1], rng) for pair in gold[0]]
        pairs = [(pair[0], words) for pair, (words, _) in zip(gold[0], found)]
        return pairs, [moved(links, places) for links, (_, places) in zip(gold[1], found)]

    return changed


def by_word(write: Callable[[str, random.Random], str]) -> Change:
    return by_target(lambda words, rng: ([write(word, rng) for word in words], stay(words)))


def stay(words: list[str]) -> list[list[int]]:
    return [[j] for j in range(len(words))]


def in_letters(words: list[str], rng: random.Random) -> tuple[list[str], list[range]]:
    letters: list[str] = []
    places = []
    for word in words:
        own = [word] if word.isdigit() else list(chinese(word))
        places.append(range(len(letters), len(letters) + len(own)))
        letters += own
    return letters, places


def in_order(order: Callable[[int, random.Random], list[int]]) -> Change:
    def change(words: list[str], rng: random.Random) -> tuple[list[str], list[list[int]]]:
        found = order(len(words), rng)
        at = {j: k for k, j in enumerate(found)}
        return [words[j] for j in found], [[at[j]] for j in range(len(words))]

    return by_target(change)


def blocks(n: int, rng: random.Random) -> list[int]:
    """Blocks of one to four words, the last one first; the last word, mostly a full stop, stays."""
    found: list[list[int]] = []
    at = 0
    while at < n - 1:
        size = rng.randint(1, 4)
        found.insert(0, list(range(at, min(at + size, n - 1))))
        at += size
    return [j for block in found for j in block] + [n - 1]


def loose(gold: Gold, rng: random.Random) -> Gold:
    """Three tenths of the words of both sides are missing."""
    pairs, links = [], []
    for pair, known in zip(*gold):
        kept = [[k for k in range(len(side)) if rng.random() > 0.3] or [0] for side in pair]
        at = [{k: place for place, k in enumerate(side)} for side in kept]
        pairs.append(tuple([side[k] for k in own] for side, own in zip(pair, kept)))
        left = [(i, j) for i, j in known.possible if i in at[0] and j in at[1]]
        links.append(Links.of([(at[0][i], at[1][j]) for i, j in left]))
    return pairs, links


def half_possible(gold: Gold, rng: random.Random) -> Gold:
    known = [Links.of([one for one in sorted(x.sure) if rng.random() < 0.5], x.possible) for x in gold[1]]
    return gold[0], known


def exchanged(gold: Gold, rng: random.Random) -> Gold:
    return [(f, e) for e, f in gold[0]], [Links.of([(j, i) for i, j in x.sure]) for x in gold[1]]


def joined(gold: Gold, rng: random.Random) -> Gold:
    """Four lines as one."""
    pairs, links = [], []
    for first in range(0, len(gold[0]) - AT_ONCE + 1, AT_ONCE):
        source, target, known = [], [], []
        for k in range(first, first + AT_ONCE):
            known += [(i + len(source), j + len(target)) for i, j in gold[1][k].sure]
            source, target = source + gold[0][k][0], target + gold[0][k][1]
        pairs.append((source, target))
        links.append(Links.of(known))
    return pairs, links


def both(*changes: Change) -> Change:
    def changed(gold: Gold, rng: random.Random) -> Gold:
        for change in changes:
            gold = change(gold, rng)
        return gold

    return changed


WORDS = by_word(lambda word, _: chinese(word))
LETTERS, BLOCKS = by_target(in_letters), in_order(blocks)
CHANGES: dict[str, Change] = {
    "as it is": lambda gold, _: gold,
    "sides exchanged": exchanged,
    "Chinese words": WORDS,
    "Chinese letters": LETTERS,
    "blocks": BLOCKS,
    "backwards": in_order(lambda n, _: list(range(n))[::-1]),
    "any order": in_order(lambda n, rng: rng.sample(range(n), n)),
    "endings": by_word(lambda word, rng: word + rng.choice(ENDINGS) if word.isalpha() else word),
    "beginnings": by_word(lambda word, rng: rng.choice(BEGINNINGS) + word if word.isalpha() else word),
    "loose": loose,
    "Chinese words, blocks": both(WORDS, BLOCKS),
    "Chinese letters, blocks, loose": both(loose, BLOCKS, LETTERS),
    "half possible": half_possible,
    "four lines as one": joined,
}


def without_gold(name: str, gold: Gold, lines: Sequence[int], command: str | None) -> None:
    for n in lines:
        pairs, links = gold[0][:n], gold[1][:n]
        aligner = Aligner(random_state=0).fit([], None, pairs)
        found = alignment_scores(links, aligner.predict(pairs))
        beside = f", eflomal {eflomal(command, pairs, links):.1%}" if command else ""
        note(
            what=f"{name}, {len(pairs)} lines", aer=found.aer, precision=found.precision, recall=found.recall
        )
        told = f"{found.aer:.1%} (precision {found.precision:.2f}, recall {found.recall:.2f}){beside}"
        print(f"{name}, {len(pairs)} lines: {told}", flush=True)


def with_gold(name: str, gold: Gold, sizes: Sequence[int]) -> None:
    n = 200 if len(gold[0]) > 500 else 60
    pairs, links = gold[0][: n + 300], gold[1][: n + 300]
    rule = Aligner(random_state=0).fit([], None, pairs)
    told = [f"none {alignment_scores(links[:n], rule.predict(pairs[:n])).aer:.1%}"]
    for size in sizes:
        own = slice(n, n + size)
        taught = Aligner(random_state=0).fit(pairs[own], links[own], statistics=rule.statistics_)
        told.append(f"{size}: {alignment_scores(links[:n], taught.predict(pairs[:n])).aer:.1%}")
    print(f"{name}, gold links {', '.join(told)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eflomal", metavar="COMMAND", help="the eflomal-align to compare with")
    parser.add_argument("--languages", nargs="*", default=["it", "hu"])
    parser.add_argument("--lines", type=int, nargs="*", default=[300, 1000])
    parser.add_argument("--gold", type=int, nargs="*", default=[], help="how many pairs have gold links")
    parser.add_argument("--only", nargs="*", choices=list(CHANGES), default=list(CHANGES), metavar="NAME")
    arguments = parser.parse_args()
    print(machine())
    for name in arguments.only:
        for language in arguments.languages:
            gold = CHANGES[name](xlwa(language, "train"), random.Random(0))
            if arguments.gold:
                with_gold(f"{name}, {language}", gold, arguments.gold)
            else:
                without_gold(f"{name}, {language}", gold, arguments.lines, arguments.eflomal)


if __name__ == "__main__":
    recorded(main)
