"""What is said of a column file before a tagger is trained on it."""

from __future__ import annotations

from structlearn.cli.support.errors import say_once
from structlearn.core.errors import doubt, doubt_alike
from structlearn.core.wording import list_names
from structlearn.data import Tokens
from structlearn.tagging.doubts import doubt_spans, doubt_words, words_as_labels
from structlearn.tagging.plan import Plan


def check_columns(tokens: Tokens, plan: Plan, *, chosen: bool, spans: bool) -> None:
    """Raise DataError for words in place of labels, unless that column was chosen; warn of other doubts."""
    problem = words_as_labels(tokens, plan.label)
    if problem is not None:
        if not chosen:
            raise tokens.error(f"{problem}; if not, give --label {plan.label}.")
        doubt(f"In {tokens.path} {problem}.")
    doubt_alike(tokens.column(plan.label).strings)
    if spans:
        doubt_spans(tokens.column(plan.label))


def note_columns(tokens: Tokens, plan: Plan) -> None:
    """Say which columns raw text will lack, and what to do; warn of words in another column."""
    doubt_words(tokens, plan.words, [name for name in tokens.columns if name != plan.label])
    needed = plan.beside_words
    if needed:
        columns = f"column{'s' if len(needed) > 1 else ''} {list_names(needed)}"
        say_once(
            f"the model looks at the {columns} beside words, which raw text does not have: "
            "`structlearn tag` will refuse the model. For raw text, train with "
            f"--columns {plan.words} (words alone), or with --with MODEL, a tagger that fills the column."
        )
