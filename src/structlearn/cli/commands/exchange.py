"""`structlearn export` and `structlearn import`: models of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import ModelOut, argument, option, registry_names
from structlearn.cli.support.outputs import check_output

_NAMES = registry_names("structlearn.tagging.exchange.formats:FORMATS")
Model = Annotated[Path, argument("MODEL", "A file that `train tag`, `train chunk` or `train ner` wrote.")]
Foreign = Annotated[Path, argument("FILE", "A model file of another tool (.gz by its name).")]


@handling_errors()
def export_model(
    model: Model,
    out: Annotated[Path, option("FILE", "Model file of the other tool to write.")],
    format: Annotated[str, option("F", "The tool: crfsuite or wapiti.", values=_NAMES)],
) -> None:
    """Write a tagger as a model file of CRFsuite or Wapiti, which labels the same way.

    crfsuite: attributes are the names of the features, as `structlearn weights` shows them; if the model has
    an intercept, every token must have the attribute intercept. wapiti: the model must have been trained with
    --templates FILE in the notation of CRF++ or Wapiti. Constraints, segments, weights of the first and last
    label, lexicons, context, usual labels, arrays and hashed features have no place in either, nor have
    transitions that look at the text in crfsuite: such a model is refused.
    """
    from structlearn.cli.tasks.lookup import open_model
    from structlearn.tagging.exchange.formats import export_tagger, format_named
    from structlearn.tagging.stored import FEATURES, is_of_names
    from structlearn.tagging.tagger import Tagger

    written = format_named(format)
    out_file = check_output(out, others=[model])
    bundle, _ = open_model(model)
    if FEATURES not in bundle.arrays and not is_of_names(bundle):
        raise ValueError(f"{model} is no tagger of words or of named features; only these are exported.")
    tagger = Tagger.of(bundle)
    export_tagger(tagger, out_file, written.name)
    if written.name == "crfsuite" and tagger.chain_.intercept_.any():
        say("Note: the model has an intercept: give every token the attribute intercept, too.")
    say(f"Wrote the model to {out}.")


@handling_errors()
def import_model(
    model: Foreign,
    out: ModelOut,
    format: Annotated[
        str | None, option("F", "The tool: crfsuite or wapiti.  [default: by the first bytes]", values=_NAMES)
    ] = None,
    columns: Annotated[
        int | None,
        option("N", "wapiti: columns of the data beside the label.  [default: those of the patterns]"),
    ] = None,
) -> None:
    """Read a model file of CRFsuite or Wapiti, and write it as a model for predict, tag, show and --continue.

    Of crfsuite, data are files of attributes; of wapiti, column files with the label last. The model answers
    with the best labelling of a sentence (as `wapiti label` does without -p), and with its probabilities.
    """
    from structlearn.tagging.exchange.formats import import_tagger
    from structlearn.tagging.written import mark_spans

    out_file = check_output(out, others=[model])
    tagger = import_tagger(model, format, columns)
    tagger.set_params(task="chunk" if mark_spans(tagger.classes_) else "tag")
    tagger.save(out_file)
    say(f"Wrote the model to {out}.")
