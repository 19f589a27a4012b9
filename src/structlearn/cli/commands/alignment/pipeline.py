"""`structlearn align run`, from raw text to links in one command, and `serve`, for one pair at a time."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.commands.alignment.group import align
from structlearn.cli.commands.alignment.link_form import LinkForm
from structlearn.cli.commands.alignment.pair_text import (
    LinkFormat,
    Model,
    Out,
    TextFiles,
    link_format,
    load_aligner,
)
from structlearn.cli.commands.alignment.statistics_run import StatisticsRun
from structlearn.cli.commands.alignment.training import fit_aligner
from structlearn.cli.commands.alignment.training_options import GoldFiles, WordOptions
from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.groups import spread_groups
from structlearn.cli.support.options import option
from structlearn.cli.support.outputs import check_output, output_file, write_pieces
from structlearn.cli.support.texts import Command

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner


def _run(
    text: TextFiles,
    links: LinkForm,
    words: WordOptions,
    run: StatisticsRun,
    out: Out = None,
    format: LinkFormat = None,
    priors: Annotated[
        Path | None, option("MODEL", "A model of other text, which counts as though it were read with this.")
    ] = None,
    model: Annotated[Path | None, option("FILE", "Write the model here, too.")] = None,
    seed: Annotated[int, option("N", "Seed of all random choices.", min=0)] = 0,
) -> None:
    """Train on a text and align the same text: tokenise, count, align, map back, in one command.

    Text is raw: --tokenize splits it for the statistics, and links are between the words that stand between
    blanks. The text is read twice, so that it must be in files. One --priors MODEL serves all chunks of a
    large text. Ctrl-C leaves no half file; --checkpoint DIR --resume goes on where it was, to the same links.
    """
    from structlearn.alignment.text.pairs import LengthLimit

    links.check()
    if Path("-") in text.files():
        raise ValueError("The text is read twice; give files, or use `align train` and `align apply`.")
    run = replace(run, continue_=priors)
    kind = link_format(out, format)
    files = [*text.files(), *run.files()]
    out_file = output_file(out, files)
    model_file = None if model is None else check_output(model, others=files)
    aligner = fit_aligner(text, GoldFiles(), words, run, random_state=seed)
    if model_file is not None:
        aligner.save(model_file)
        say(f"Wrote the model to {model}.")
    limit = LengthLimit(words.max_length)
    write_pieces(kind.write(links.pairs(aligner, text, limit), text.languages), out_file)


align.command(
    "run",
    cls=Command,
    short_help="Train on raw text and align it, in one command.",
    epilog="Example: structlearn align run --src text.en.zst --tgt text.fr.zst --tokenize simple "
    "--memory 2GB --jobs 2 --out links.zst",
)(handling_errors()(spread_groups(_run, without={"continue_"})))


@align.command(
    short_help="Align pairs as they come: JSON lines in, JSON lines out.",
    epilog="Example: structlearn align serve model.safetensors < pairs.jsonl",
)
@handling_errors()
def serve(model: Model) -> None:
    """Read an object per line from stdin and write its links at once, until stdin ends.

    {"source": "the house", "target": "la maison"} gives {"links": [[0, 0], [1, 1]], "confidence": [0.98,
    0.97]}. Sides are texts or lists of words. With a text go its words, and where they begin and end. A line
    that cannot be read gives {"error": "..."}; an "id" comes back with the answer.
    """
    aligner = load_aligner(model)
    for line in sys.stdin:
        if line.strip():
            sys.stdout.write(json.dumps(_answer(aligner, line), ensure_ascii=False) + "\n")
            sys.stdout.flush()


def _answer(aligner: Aligner, line: str) -> dict[str, Any]:
    """Return the links of the pair in one line, or what is wrong with it."""
    from structlearn.storage.schema import read_json

    try:
        given = read_json(line, dict, "the line")
    except ValueError as error:
        return {"error": f"This is no JSON object ({error})."}
    answer = {"id": given["id"]} if "id" in given else {}
    try:
        return answer | _linked(aligner, given)
    except ValueError as error:
        return answer | {"error": str(error)}


def _linked(aligner: Aligner, given: dict[str, Any]) -> dict[str, Any]:
    from structlearn.alignment.text.tokenizers import SplitText

    sides = [_side(aligner, given, name, k) for k, name in enumerate(("source", "target"))]
    longest = max(map(len, sides))
    if longest > aligner.max_length:
        raise ValueError(f"A side has {longest} words, more than {aligner.max_length}.")
    (found,) = aligner.align([(sides[0], sides[1])], scores=True)
    answer: dict[str, Any] = {"links": found.links, "confidence": [round(x, 4) for x in found.confidence]}
    for name, side in zip(("source", "target"), sides):
        if isinstance(side, SplitText):
            answer |= {f"{name}_words": side, f"{name}_spans": side.spans}
    return answer


def _side(aligner: Aligner, given: dict[str, Any], name: str, k: int) -> list[str]:
    value = given.get(name)
    if isinstance(value, str):
        return aligner.tokenizers_[k](value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    raise ValueError(f'"{name}" must be a text or a list of words.')
