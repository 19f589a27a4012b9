"""`structlearn export` and `structlearn import`: models of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import ModelOut, argument, option, registry_names
from structlearn.cli.support.outputs import check_output

_NAMES = registry_names("structlearn.tagging.exchange.formats:FORMATS")
#: the format of models of numbers, not of words
_ONNX = "onnx"
Model = Annotated[Path, argument("MODEL", "A file that `train` or `save` wrote.")]
Foreign = Annotated[Path, argument("FILE", "A model file of another tool (.gz or .zst by its name).")]


@handling_errors()
def export_model(
    model: Model,
    out: Annotated[Path, option("FILE", "Model file of the other tool to write.")],
    format: Annotated[
        str, option("F", "The tool: crfsuite, wapiti or onnx.", values=lambda: (*_NAMES(), _ONNX))
    ],
) -> None:
    """Write a model as a file of CRFsuite, Wapiti or ONNX, which answers the same way.

    onnx: models of numbers, that is classify, multilabel without pairs, regress, and chains over arrays; the
    graph takes X, float32 of shape (rows, features), and answers with labels and scores. Other formats hold
    taggers. crfsuite: attributes are the names of the features, as `structlearn weights` shows them; if the
    model has an intercept, every token must have the attribute intercept. wapiti: the model must have been
    trained with --templates FILE in the notation of CRF++ or Wapiti. Constraints, segments, weights of the
    first and last label, tag dictionaries, lexicons, context, usual labels, arrays and hashed features have
    no place in either, nor have transitions that look at the text in crfsuite: such a model is refused.
    """
    from structlearn.cli.tasks.lookup import open_model
    from structlearn.tagging.exchange.formats import export_tagger, format_named
    from structlearn.tagging.stored import FEATURES, is_of_names
    from structlearn.tagging.tagger import Tagger

    name = format if format == _ONNX else format_named(format).name
    out_file = check_output(out, others=[model])
    bundle, _ = open_model(model)
    has_words = FEATURES in bundle.arrays or is_of_names(bundle)
    if name == _ONNX and not has_words:
        from structlearn.onnx import export_onnx

        export_onnx(bundle.estimator, out_file)
    elif has_words:
        tagger = Tagger.of(bundle)
        export_tagger(tagger, out_file, name)
        if name == "crfsuite" and tagger.chain_.intercept_.any():
            say("Note: the model has an intercept: give every token the attribute intercept, too.")
    else:
        raise ValueError(
            f"{model} is no tagger of words or of named features; only these are exported to {name}."
        )
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
