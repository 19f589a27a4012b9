"""Training an aligner on the files of a command, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structlearn.cli.commands.alignment.pair_text import (
    TextFiles,
    languages_doubted,
    read_for,
    warn_of_length,
)
from structlearn.cli.commands.alignment.statistics_run import StatisticsRun
from structlearn.cli.commands.alignment.training_options import GoldFiles, WordOptions
from structlearn.cli.commands.alignment.vote_files import VoteFiles
from structlearn.cli.support.errors import fitting, say
from structlearn.cli.support.flags import said_by
from structlearn.cli.support.outputs import printed_certificate
from structlearn.core.wording import count_of

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.files.pair_files import FilePair
    from structlearn.alignment.gold.vectors import Vectors, Words
    from structlearn.alignment.links import Links

#: Pairs below which training says that it had little to learn from.
FEW_PAIRS = 100


def fit_aligner(
    text: TextFiles,
    gold: GoldFiles,
    words: WordOptions,
    run: StatisticsRun,
    vectors: Vectors | None = None,
    votes: VoteFiles | None = None,
    **more: Any,
) -> Aligner:
    """Train an aligner on a text, and say what was read."""
    from structlearn.alignment.aligner import Aligner

    long_run, earlier = run.parameters(), run.earlier()
    run.check_room(text.files())
    aligner = Aligner(**more, **words.parameters(text), **long_run)
    _choose_tokenizers(aligner, text, earlier)
    with _naming(text, run.continue_):
        _fit(aligner, text, gold, votes or VoteFiles(), vectors=vectors, earlier=earlier)
    return aligner


def _choose_tokenizers(aligner: Aligner, text: TextFiles, earlier: Aligner | None) -> None:
    """Choose tokenizers by the first pairs, and say which, where that is asked for."""
    is_asked = earlier is None and "auto" in aligner.tokenize
    aligner.choose_tokenizers(text.first_texts() if is_asked else (), earlier)
    names = [one.name for one in aligner.tokenizers_]
    if is_asked:
        aligner.set_params(tokenize=names)
        say(f"Text is split by the tokenizers {names[0]} (source) and {names[1]} (target).")


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
    votes: VoteFiles,
    *,
    vectors: Vectors | None,
    earlier: Aligner | None,
) -> None:
    from structlearn.alignment.text.pairs import LengthLimit

    limit = LengthLimit(aligner.max_length)
    pairs = read_for(aligner, text)
    if earlier is not None:
        pairs = languages_doubted(earlier, pairs)
    bitext = _words(limit.fitting_pairs(pairs))
    more: dict[str, Any] = {"vectors": vectors, "earlier": earlier}
    with fitting():
        if gold.gold is not None:
            known = list(LengthLimit(aligner.max_length).fitting_pairs(votes.beside(gold.read())))
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
    return (pair.words() for pair in pairs)


def _gold_links(path: Path, pairs: list[FilePair]) -> list[Links]:
    from structlearn.data import DataError

    found = [pair.links for pair in pairs if pair.links is not None]
    if len(found) < len(pairs):
        number = next(pair.number for pair in pairs if pair.links is None)
        raise DataError.at(path, number, "the pair has no links; leave it out, or give it some.")
    return found


def figures_of(aligner: Aligner) -> dict[str, object]:
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
