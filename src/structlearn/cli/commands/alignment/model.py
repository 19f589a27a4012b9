"""`structlearn align train`, `apply` and `show`."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.commands.alignment.group import align
from structlearn.cli.commands.alignment.link_form import LinkForm
from structlearn.cli.commands.alignment.pair_text import (
    LinkFormat,
    MaxLength,
    Model,
    Out,
    TextFiles,
    aligned_pairs,
    link_format,
    load_aligner,
    read_for,
    warn_of_length,
)
from structlearn.cli.commands.alignment.statistics_run import StatisticsRun
from structlearn.cli.commands.alignment.training import figures_of, fit_aligner
from structlearn.cli.commands.alignment.training_options import (
    GoldFiles,
    LinkOptions,
    VectorFiles,
    WordOptions,
    say_mapped,
)
from structlearn.cli.commands.alignment.vote_files import VoteFiles
from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.groups import spread_groups
from structlearn.cli.support.options import Jobs, Json, ModelOut, PageOut, option
from structlearn.cli.support.outputs import check_output, output_file, print_figures, write_pieces
from structlearn.cli.support.texts import Command

if TYPE_CHECKING:
    from structlearn.alignment.files.pair_files import WrittenPair
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.alignment.uses.page import AlignedPair


@align.command(
    "train",
    cls=Command,
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
    votes: VoteFiles,
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

    With --votes, links that other aligners (a neural one, say) give the gold pairs are features, too. `align
    apply` then needs their links of the text.

    Text of any length trains in bounded memory with --memory. Ctrl-C ends training without a model; what
    --checkpoint has kept is not lost.
    """
    given = gold.given_files()
    links.check(given, files)
    if votes.files() and not given:
        raise ValueError("--votes needs gold links, which teach what votes are worth: give --gold.")
    others = [*text.files(), *given, *votes.files(), *files.given_files(), *run.files()]
    out_file = check_output(out, others=others)
    vectors = files.read()
    map_vectors = vectors is not None and files.dictionary is None and not files.one_space
    more = {**links.parameters(), "map_vectors": map_vectors, "random_state": seed}
    aligner = fit_aligner(text, gold, words, run, vectors, votes, **more)
    if aligner.mapped_ is not None:
        say_mapped(aligner.mapped_, "the text")
    aligner.save(out_file)
    say(f"Wrote the model to {out}.")
    print_figures(figures_of(aligner).items(), as_json=as_json)


@align.command(
    short_help="Align text, one line per pair.",
    epilog="Example: structlearn align apply model.safetensors --src new.en --tgt new.fr --out new.pharaoh",
)
@handling_errors()
@spread_groups
def apply(
    model: Model,
    text: TextFiles,
    links: LinkForm,
    votes: VoteFiles,
    out: Out = None,
    format: LinkFormat = None,
    max_length: MaxLength = 200,
    jobs: Jobs = 1,
) -> None:
    """Write the links of each sentence pair as a Pharaoh line: 0-0 1-2, source-target, from 0.

    The text streams through. A pair with an empty side, or with one that is too long, gives an empty line.
    A model that was trained with --tokenize takes text as it is. One that was trained with --votes needs
    those of the same aligners for this text, as links between the words that stand between blanks. Other
    formats: naacl (one line per link), tsv (source, target and links between tabs), jsonl (an object per
    pair, with the places of words in their text), tmx.
    """
    from structlearn.alignment.text.pairs import LengthLimit
    from structlearn.estimators.choices import threads

    links.check()
    out_file = output_file(out, [model, *text.files(), *votes.files()])
    kind = link_format(out, format)
    limit = LengthLimit(max_length)
    aligner = load_aligner(model).set_params(n_jobs=threads(jobs))
    votes.check_for(aligner)
    write_pieces(kind.write(links.pairs(aligner, text, limit, votes), text.languages), out_file)
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
    found = list(aligned_pairs(aligner, read_for(aligner, text), limit, scores=True))
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
