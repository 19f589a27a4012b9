"""`structlearn align`: word alignment; here `clean` and `evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from structlearn.cli.commands.alignment.scoring import ScoreOptions
from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.groups import spread_groups
from structlearn.cli.support.options import Json, option, registry_names, switch
from structlearn.cli.support.outputs import check_output, print_figures
from structlearn.cli.support.texts import Command

if TYPE_CHECKING:
    from structlearn.alignment.text.tokenizers import Tokenizer

align = typer.Typer(rich_markup_mode=None)

Source = Annotated[
    Path, option("FILE", "Source sentences, one per line, plain, .gz or .zst; - for stdin.", "--src")
]
Target = Annotated[Path, option("FILE", "Their translations, line by line; one side may be -.", "--tgt")]


@align.callback(
    invoke_without_command=True,
    epilog="Example: structlearn align evaluate --hyp mine.pharaoh --gold gold.wa",
)
def show_align_help(context: typer.Context) -> None:
    """Word alignment: which words of a sentence and of its translation belong together."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@align.command(
    cls=Command,
    short_help="Clean parallel text for training.",
    epilog="Example: structlearn align clean --src raw.en --tgt raw.fr --out clean --tokenize simple",
)
@handling_errors()
@spread_groups
def clean(
    source: Source,
    target: Target,
    out: Annotated[Path, option("PREFIX", "Write PREFIX and the inputs' suffixes, else .src and .tgt.")],
    scoring: ScoreOptions,
    tokenize: Annotated[
        str,
        option(
            "T",
            "{aligned_tokenizers}.",
            values=registry_names("structlearn.alignment.text.tokenizers:TOKENIZERS"),
        ),
    ] = "none",
    source_language: Annotated[
        str | None, option("L", "Such as en.  [default: the suffix of FILE]", "--src-language")
    ] = None,
    target_language: Annotated[
        str | None, option("L", "Such as fr.  [default: the suffix of FILE]", "--tgt-language")
    ] = None,
    lowercase: Annotated[bool, switch("--lowercase", "Write lower case.")] = False,
    strip_accents: Annotated[bool, switch("--strip-accents", "Write e for é, oe for œ.")] = False,
    min_length: Annotated[int, option("N", "Drop pairs with a side of fewer tokens.")] = 1,
    max_length: Annotated[int, option("N", "Drop pairs with a side of more tokens.")] = 80,
    max_ratio: Annotated[float, option("X", "Drop pairs with a side X times longer than the other.")] = 3.0,
    split_above: Annotated[
        int | None,
        option(
            "N",
            "Split pairs with a side of more tokens than N where their punctuation agrees; 0: never.  "
            "[default: --max-length]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tokenise line-aligned text, drop unfit pairs, split long ones, and print what was done.

    The text is read and written as a stream, so its size does not matter. It is brought to Unicode's composed
    form (NFC) in any case. A pair is split behind punctuation marks that both sides have in the same order,
    if the pieces are alike in length.

    With --score no pair is split, and those are dropped whose sides hardly translate each other. The score of
    a pair is the probability that it is good: an aligner, trained on the same text unless --model is given,
    sees how much each word is explained by the other side, and pairs that are mismatched on purpose show what
    bad ones look like. Without --precision and --keep, pairs above 0.5 are kept. The text is read three
    times.
    """
    from structlearn.alignment.text.clean import CleaningRules, clean_files

    outputs = _beside(out, source, target)
    for path in outputs:
        check_output(path, others=[source, target])
    scoring.check([source, target], list(outputs))
    rules = CleaningRules(
        _tokenizer(tokenize, source_language, source, "--src-language"),
        _tokenizer(tokenize, target_language, target, "--tgt-language"),
        lowercase=lowercase,
        strip_accents=strip_accents,
        min_length=min_length,
        max_length=max_length,
        max_ratio=max_ratio,
        split_above=split_above,
    )
    sources = source, target
    figures = (
        scoring.clean(sources, outputs, rules) if scoring.score else clean_files(sources, outputs, rules)
    )
    print_figures(figures.items(), as_json=as_json)


def _beside(prefix: Path, source: Path, target: Path) -> tuple[Path, Path]:
    """Return the output names: the prefix and the inputs' suffixes (`.en`, `.en.gz`), if these differ."""
    left, right = _suffix(source), _suffix(target)
    if not left or not right or left == right:
        left, right = ".src", ".tgt"
    return Path(f"{prefix}{left}"), Path(f"{prefix}{right}")


def _suffix(path: Path) -> str:
    from structlearn.data.compression import inner_name

    whole = path.name
    inner = inner_name(whole)
    kind = Path(inner).suffix
    return f"{kind}{whole[len(inner) :]}" if kind else ""


def _tokenizer(name: str, language: str | None, path: Path, option: str) -> Tokenizer:
    from structlearn.alignment.text.tokenizers import AT_BLANKS, TOKENIZERS, Tokenizer

    if TOKENIZERS.entry(name).name == "none":
        return AT_BLANKS
    code = language or language_of(path)
    if code is None:
        raise ValueError(f"The language of {path} cannot be told from its name; give it with {option} en.")
    return Tokenizer(name, code)


def language_of(path: Path) -> str | None:
    """Return the language that the suffix of a file stands for.

    .e is English, .f French, else two letters.
    """
    from structlearn.data.compression import inner_name

    code = Path(inner_name(path.name)).suffix.lstrip(".").lower()
    return {"e": "en", "f": "fr"}.get(code, code if len(code) == 2 and code.isalpha() else None)


@align.command(
    "evaluate",
    short_help="Compare links with gold links.",
    epilog="Example: structlearn align evaluate --hyp mine.pharaoh --gold gold.wa",
)
@handling_errors()
def evaluate_links(
    hypothesis: Annotated[Path, option("FILE", "Predicted links; - for stdin.", "--hyp")],
    gold: Annotated[Path, option("FILE", "Gold links, sure and possible.")],
    as_json: Json = False,
) -> None:
    """Print precision, recall, aer (alignment error rate), f1 and counts of links as `name: value` lines.

    Both files may be in Pharaoh form (a line per sentence pair: 0-0 1-2, possible links as 0?1) or in that of
    NAACL 2003 (one line per link: sentence, source and target from 1, S or P). Precision counts possible gold
    links as right, recall looks at sure ones only. A NAACL file may lack sentence pairs without links.
    """
    from structlearn.alignment.links import read_both
    from structlearn.alignment.metrics import alignment_scores

    found, true = read_both(hypothesis, gold)
    scores = alignment_scores(true, [links.possible for links in found])
    figures = {name: getattr(scores, name) for name in ("precision", "recall", "aer", "f1")}
    counts = {"links": scores.predicted, "sure": scores.sure, "pairs": len(true)}
    print_figures([*figures.items(), *counts.items()], as_json=as_json)
