"""`structlearn align project`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.commands.alignment.group import align
from structlearn.cli.commands.alignment.pair_text import LinkSource, MaxLength, Out, TextFiles, warn_of_length
from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.groups import spread_groups
from structlearn.cli.support.options import option, switch
from structlearn.cli.support.outputs import output_file, write_pieces

if TYPE_CHECKING:
    from structlearn.alignment.files.pair_files import FilePair, WrittenPair
    from structlearn.alignment.text.pairs import Splits
    from structlearn.alignment.uses.labelled import LabelledSentence, ProjectedSentence

#: The labels of this many first sentences show whether they mark spans.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class LabelOptions:
    """The labelled file, and how its labels are carried over."""

    labels: Annotated[
        Path,
        option("FILE", "Labelled words: CoNLL columns, CoNLL-U, or [ORG Acme] in brackets; - for stdin."),
    ]
    column: Annotated[
        str | None, option("C", "Their column, from 0, or its CoNLL-U name.  [default: the last; upos]")
    ] = None
    labels_format: Annotated[
        str | None, option("F", "columns or inline.  [default: inline if words are in brackets]")
    ] = None
    side: Annotated[str, option("S", "The side that is labelled: source or target.")] = "source"
    kind: Annotated[
        str, option("K", "spans (O, B-type, I-type ...), tags, or auto: what the first labels look like.")
    ] = "auto"
    gaps: Annotated[
        str,
        option("POLICY", "Spans with a gap: fill (from first to last word), split (a span a run) or drop."),
    ] = "fill"
    min_confidence: Annotated[float, option("X", "Leave out labels that are less sure.", min=0)] = 0.0

    @property
    def own(self) -> int:
        """The number of the labelled side."""
        from structlearn.core.registry import one_of

        return ("source", "target").index(one_of("side", self.side, ("source", "target")))


@align.command(
    "project",
    short_help="Carry labels from one side of a text to the other.",
    epilog="Example: structlearn align project model.safetensors --labels names.conll "
    "--tgt text.fr --out names.fr",
)
@handling_errors()
@spread_groups
def project_labels_of_text(
    given: LinkSource,
    text: TextFiles,
    options: LabelOptions,
    scores: Annotated[bool, switch("--scores", "Write confidences from 0 to 1.")] = False,
    out: Out = None,
    format: Annotated[
        str | None, option("F", "conll, conllu, inline or jsonl.  [default: as the labels are]")
    ] = None,
    max_length: MaxLength = 200,
) -> None:
    """Write the words of one side with the labels that words of the other side have.

    Tags (parts of speech) are carried word by word: a word has the tag of the words it is linked to, the
    surest if they differ, and _ if there are none. Spans (names, chunks) are carried as wholes and written
    as B-type and I-type; where two overlap the surer one stays. The labelled side's text may be left out:
    it is in the file of labels. If it is given, its words must be the same.
    """
    from structlearn.alignment.text.pairs import AT_BLANKS, LengthLimit
    from structlearn.alignment.uses.labelled import LABELLED_FORMATS, read_labelled
    from structlearn.alignment.uses.projection import GAPS

    GAPS.entry(options.gaps)
    files = [*given.files(), options.labels, *_files(text, options.own)]
    out_file = output_file(out, files)
    labelled = read_labelled(options.labels, options.column, options.labels_format)
    kind = LABELLED_FORMATS.entry(format or labelled.form)
    limit = LengthLimit(max_length)
    known, words = tee(labelled.sentences)
    linked = given.pairs_with_links(
        lambda split: _pairs(text, options, words, split or AT_BLANKS), limit, scores=True
    )
    found = _project_sentences(options, known, linked)
    pieces = (kind.write(one, column=labelled.column, scores=scores) for one in found)
    write_pieces(pieces, out_file)
    warn_of_length(limit, "have no labels")


def _files(text: TextFiles, own: int) -> list[Path]:
    """Return the files of the text; that of the labelled side may be missing."""
    other = (text.target, text.source)[own]
    mine = (text.source, text.target)[own]
    if text.text is None and other is not None and mine is None:
        return [other]
    return text.files()


def _pairs(
    text: TextFiles, options: LabelOptions, sentences: Iterator[LabelledSentence], split: Splits
) -> Iterator[FilePair]:
    """Yield the pairs, whose labelled side is checked or, if its file is missing, taken from the labels."""
    other_split = split[1 - options.own]
    from structlearn.alignment.uses.labelled import beside_labels, check_same_words

    other, *more = _files(text, options.own)
    if text.text is None and not more:
        yield from _pair_with_labels(other, options, sentences, other_split)
        return
    sides = (str.split, other_split) if options.own == 0 else (other_split, str.split)
    for pair, sentence in beside_labels(text.read(sides), sentences, (text.name, options.labels)):
        words = (pair.source, pair.target)[options.own]
        check_same_words(options.labels, sentence, words, f"{text.name}, line {pair.number},")
        yield pair


def _pair_with_labels(
    other: Path,
    options: LabelOptions,
    sentences: Iterator[LabelledSentence],
    split: Callable[[str], list[str]],
) -> Iterator[FilePair]:
    from structlearn.alignment.files.pair_files import FilePair
    from structlearn.alignment.text.pairs import file_lines
    from structlearn.alignment.uses.labelled import beside_labels

    rows = (FilePair(number, split(line), []) for number, line in file_lines(other))
    for pair, sentence in beside_labels(rows, sentences, (str(other), options.labels)):
        sides = sentence.words, pair.source
        yield FilePair(pair.number, *(sides[::-1] if options.own else sides))


def _project_sentences(
    options: LabelOptions, sentences: Iterator[LabelledSentence], pairs: Iterator[WrittenPair]
) -> Iterator[ProjectedSentence]:
    from structlearn.alignment.links import Aligned
    from structlearn.alignment.uses.labelled import ProjectedSentence, is_spans
    from structlearn.alignment.uses.projection import project_pair, without_unsure

    first = list(islice(sentences, _LOOKED_AT))
    spans = is_spans(options.kind, (label for one in first for label in one.labels))
    gaps = options.gaps if spans else None
    for pair, sentence in zip(pairs, chain(first, sentences)):
        sides = pair.source, pair.target
        carried = project_pair(
            sentence.labels, Aligned(list(pair.links), list(pair.confidence)), sides, gaps, options.own
        )
        yield ProjectedSentence(
            sides[1 - options.own], without_unsure(carried, options.min_confidence, spans)
        )
