"""The options of `tag`, `chunk` and `ner`: those of files are declared here, the rest are `Tagger`'s."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

from structlearn.cli.support.derived import with_parameters
from structlearn.cli.support.options import option, switch
from structlearn.cli.tasks.neural import NEURAL
from structlearn.cli.tasks.options import (
    ClusterOptions,
    ElasticNetOptions,
    Epochs,
    Networks,
    given_options,
)
from structlearn.tagging.parameters import TaggerParameters

#: --templates for files whose cells are the features
CELLS = "cells"
#: --templates for files of CRFsuite
ITEMS = "crfsuite"
#: How the names of files of templates end.
_FILES = (".template", ".templates", ".txt", ".pat")
#: --usual and --constraints for none
NONE = "none"
#: Parameters of taggers that are not given, or not so, in the shell.
_OTHERWISE = (
    *("task", "lexicons", "regularization", "tol", "n_jobs", "random_state", "verbose", "chain_options"),
    *("taggers", "warm_start"),
)


@dataclass(frozen=True)
class _ColumnOptions(ElasticNetOptions, ClusterOptions):
    """Options of `tag`."""

    penalties: ClassVar[tuple[str, ...]] = ("l2", "elasticnet", "l1")
    says: ClassVar[Mapping[str, str]] = {
        "loss": "softmax, or hinge with --cost count or a --solver that trains nothing else",
        "cost": "count",
        "tol": "0.01",
        "networks": "2",
        "regularization": "1 over the number of sentences",
        "penalties": "l2, elasticnet (few weights) or, with softmax, l1.",
        "target": "The same as --label.  [default: the last column]",
    }
    label: Annotated[
        str | None,
        option(
            "COLUMN",
            "The column to learn, by its number from 0 (-1 is the last) or, in CoNLL-U, by its name.  "
            "[default: the last; upos in CoNLL-U]",
        ),
    ] = None
    columns: Annotated[
        str | None,
        option(
            "COLUMN,...",
            "The columns to look at, the words first.  [default: all but the label; ner: the first; in "
            "CoNLL-U form]",
        ),
    ] = None
    templates: Annotated[
        str | None,
        option(
            "T",
            "Feature templates, such as 'word[-1..1] word.suffix1..3 pos[-1]&pos', or the word cells if the "
            "columns hold features themselves, or crfsuite for a file of CRFsuite, or a file of templates, "
            "also in the notation of CRF++ and Wapiti.  [default: see docs/tagging.md]",
        ),
    ] = None
    constraints: Annotated[
        str | None,
        option(
            "C",
            "Which label may not follow which: bio, bioes, bilou, none, or pairs such as 'O>I-LOC,>I-LOC' "
            "(nothing before > is the start, nothing after it the end).  [default: none; chunk, ner: what "
            "the labels follow]",
            values=lambda: ("bio", "bioes", "bilou", NONE),
        ),
    ] = None
    lexicon: Annotated[
        list[str] | None,
        option("NAME=FILE", "A list of phrases, one per line, as the column NAME. Repeatable."),
    ] = None
    with_: Annotated[
        list[str] | None,
        option(
            "[COLUMN=]MODEL",
            "A tagger of words that fills a column (the first beside the words, or a new one, pos), in "
            "training and in use; it is kept in the model, which then tags raw text.",
            "--with",
        ),
    ] = None
    continue_: Annotated[
        str | None,
        option(
            "MODEL",
            "Start at the weights of this model, by the names of features and labels; the certificate is "
            "that of DATA alone.",
            "--continue",
        ),
    ] = None
    model: Annotated[
        str | None,
        option(
            "MODEL",
            "chain, or neural: networks beside a chain, which take minutes and the extra torch.  [default: "
            "chain]",
            values=lambda: ("chain", NEURAL),
        ),
    ] = None
    epochs: Epochs = None
    networks: Networks = None
    boundaries: Annotated[
        bool, switch("--boundaries", "Weights for the first and last label of a sequence.")
    ] = False

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a `Tagger` that the options stand for, but for those that files decide."""
        from structlearn.tagging.features.resources import parse_lexicons

        names = {one.name for one in fields(TaggerParameters)} - {"columns", "constraints"}
        found = super().parameters()
        own = {name: value for name, value in given_options(self).items() if name in names}
        if own.get("templates") in (CELLS, ITEMS):
            del own["templates"]
        elif "templates" in own:
            own["templates"] = text_or_file(own["templates"])
        if self.lexicon:
            own["lexicons"] = parse_lexicons(self.lexicon)
        if own.get("usual") == NONE:
            own["usual"] = ""
        chain = {name: value for name, value in found.items() if name not in names}
        if self.boundaries:
            chain |= {"start": True, "end": True}
        return {**own, **({"chain_options": chain} if chain else {})}


def text_or_file(templates: str) -> str | Path:
    """Return templates as they are given, or the path of their file: what templates cannot be, or a file."""
    named = templates.endswith(_FILES) or "/" in templates.partition("%")[0]
    return Path(templates) if named or ("\n" not in templates and os.path.isfile(templates)) else templates


@dataclass(frozen=True)
class _SpanOptions(_ColumnOptions):
    """Options of `chunk` and `ner`."""

    model: Annotated[
        str | None,
        option(
            "MODEL",
            "chain gives each token a label; segments scores whole spans and their lengths; neural has "
            "networks beside a chain, which take minutes and the extra torch.  [default: chain]",
            values=lambda: ("chain", "segments", NEURAL),
        ),
    ] = None


TagOptions = with_parameters(_ColumnOptions, TaggerParameters, _OTHERWISE)
SpanOptions = with_parameters(_SpanOptions, TaggerParameters, _OTHERWISE)
