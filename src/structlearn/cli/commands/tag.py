"""`structlearn tag`: raw text, labelled as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.commands.predict import Jobs, Model
from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.options import argument, option, registry_names
from structlearn.cli.support.outputs import output_file, write_pieces

if TYPE_CHECKING:
    from structlearn.data.text_stream import ByteStream
    from structlearn.tagging.answers import TaggerAnswers
    from structlearn.tagging.written import TextFormat

_STDIN = Path("-")


@handling_errors()
def tag(
    model: Model,
    file: Annotated[Path, argument("FILE", "Text in UTF-8, plain, .gz or .zst; - is stdin.")] = _STDIN,
    format: Annotated[
        str, option("F", "{text_formats}.", values=lambda: ("conll", "json", "inline"))
    ] = "conll",
    tokenizer: Annotated[
        str, option("T", "{tokenizers}.", values=registry_names("structlearn.tagging.tokenizers:TOKENIZERS"))
    ] = "penn",
    out: Annotated[
        Path | None, option("FILE", "Write here (.gz or .zst by its name).  [default: stdout]")
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Label the words of raw text, with a model that tag, chunk or ner trained.

    Sentences end at blank lines and where punctuation says so. They are written as they come, so that text
    may be endless. json writes a line per sentence: tokens, labels, offsets (where each token begins and ends
    in the text, in characters), and spans (their label, their first token and the one behind their last,
    their offsets) where labels mark spans. inline writes [ORG Acme] or dog/NN. A model that looks at another
    column beside words (tags) must have been trained with --with, which keeps a tagger for that column.
    """
    from structlearn.data.text_stream import text_pieces
    from structlearn.tagging.tokenizers import TOKENIZERS
    from structlearn.tagging.written import TEXT_FORMATS

    written, splits = TEXT_FORMATS.entry(format), TOKENIZERS.entry(tokenizer).name
    out_file = output_file(out, [model, file])
    tagger = _tagger(model, jobs)
    with _open_input(file) as stream:
        text = text_pieces("stdin" if file == _STDIN else str(file), stream)
        pieces = _format_sentences(tagger, text, splits, written)
        write_pieces(pieces if out_file else _flush_each(pieces), out_file)


def _tagger(model: Path, jobs: int) -> TaggerAnswers:
    from structlearn.apps.registry import tagger_of
    from structlearn.cli.tasks.lookup import open_model
    from structlearn.storage.model_file import refuse_damaged
    from structlearn.tagging.raw import check_words_only

    bundle, task = open_model(model)
    if task.estimator != "ChainClassifier":
        raise ValueError(f"Models of the task {bundle.notes['task']} do not label words; tag takes taggers.")
    with refuse_damaged(model):
        bundle.estimator.set_params(n_jobs=jobs)
        tagger = tagger_of(bundle)
    check_words_only(tagger)
    return tagger


def _open_input(file: Path) -> AbstractContextManager[ByteStream]:
    from structlearn.data.text import open_bytes, standard_input

    return nullcontext(standard_input()) if file == _STDIN else open_bytes(file)  # type: ignore[arg-type]


def _format_sentences(
    tagger: TaggerAnswers, text: Iterator[str], tokenizer: str, form: TextFormat
) -> Iterator[str]:
    """Yield what leaves at a time."""
    from structlearn.tagging.written import mark_spans

    marked = mark_spans(tagger.classes_.tolist())
    for sentences in tagger.tag_stream(text, tokenizer):
        yield "".join(form.write(sentence, marked=marked) for sentence in sentences)


def _flush_each(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces; each is on its way before the next is made."""
    for piece in pieces:
        yield piece
        sys.stdout.flush()
