"""The page of tagged text: scores, confusions, the worst sentences first, and what speaks for each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from structlearn.estimators.inputs.spans import spans
from structlearn.estimators.weights.explaining import Explanation
from structlearn.metrics import LabelScores, label_scores
from structlearn.reports.page import Page
from structlearn.reports.summaries import Summary, summary_row
from structlearn.reports.tagged_text import TaggedText, Why, tagged_page
from structlearn.tagging.scores import scores_by_type

#: From numbers of sentences to explanations of their tokens.
Explain = Callable[[Sequence[int]], Iterable[list[Explanation]]]
#: Tokens whose labels are explained at most, and contributions of each: so a page stays below a few MB.
MOST_EXPLAINED, MOST_CONTRIBUTIONS = 3000, 4
_MOST_CONFUSIONS = 10
_LONGEST_NAME = 60


def text_page(
    sentences: Sequence[TaggedText],
    *,
    title: str,
    limit: int,
    of_spans: bool,
    explain: Explain | None = None,
) -> Page:
    """Return a page of at most `limit` sentences; where they have gold labels, scores, and the worst first.

    of_spans : whether labels mark spans, which are then what is counted
    """
    wrong = wrong_spans if of_spans else wrong_tokens
    order = sorted(range(len(sentences)), key=lambda i: -wrong(sentences[i]))[:limit]
    explained = iter(() if explain is None else _whys(explain(order)))
    shown = [sentences[i]._replace(why=next(explained, ())) for i in order]
    judged = [one for one in sentences if one.gold is not None]
    summary = _summary(judged, of_spans=of_spans) if judged else None
    return tagged_page(shown, title=title, numbers=[i + 1 for i in order], summary=summary, every=sentences)


def wrong_spans(one: TaggedText) -> int:
    """Return the spans that were found wrongly or missed."""
    return 0 if one.gold is None else len(set(spans(one.gold)) ^ set(spans(one.tags)))


def wrong_tokens(one: TaggedText) -> int:
    """Return the tokens with a wrong label."""
    return 0 if one.gold is None else sum(a != b for a, b in zip(one.gold, one.tags))


def _whys(explanations: Iterable[list[Explanation]]) -> Iterator[list[Why | None]]:
    """Yield the first contributions of each token, until enough are explained."""
    left = MOST_EXPLAINED
    for sentence in explanations:
        if left <= 0:
            return
        yield [_why(one) for one in sentence[:left]]
        left -= len(sentence)


def _why(one: Explanation) -> Why | None:
    if one.runner_up is None:
        return None
    parts = [
        (part.name[:_LONGEST_NAME], f"{part.amount:+.2f}") for part in one.contributions if part.amount > 0
    ]
    return Why(str(one.label), str(one.runner_up), f"{one.difference:.2f}", parts[:MOST_CONTRIBUTIONS])


def _summary(sentences: Sequence[TaggedText], *, of_spans: bool) -> Summary:
    gold = [list(one.gold or ()) for one in sentences]
    found = [list(one.tags) for one in sentences]
    pairs = list(zip(chain.from_iterable(gold), chain.from_iterable(found)))
    confused = Counter((a, b) for a, b in pairs if a != b)
    accuracy = 1 - confused.total() / max(len(pairs), 1)
    rows: list[tuple[str, LabelScores]] = []
    if of_spans:
        totals, types = scores_by_type(gold, found)
        rows = [("all", totals), *types.items()]
    else:
        scores = label_scores([a for a, _ in pairs], [b for _, b in pairs])
        rows = [(str(label), one) for label, one in scores.items()]
    return Summary(
        "spans" if of_spans else "labels",
        "tokens",
        f"{accuracy:.4f}",
        len(pairs),
        [summary_row(name, one) for name, one in rows],
        [(a, b, n, f"{n / confused.total():.1%}") for (a, b), n in islice(_most(confused), _MOST_CONFUSIONS)],
    )


def _most(confused: Counter[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], int]]:
    """Return the most frequent first, in alphabetical order where they are as frequent."""
    return iter(sorted(confused.items(), key=lambda pair: (-pair[1], pair[0])))
