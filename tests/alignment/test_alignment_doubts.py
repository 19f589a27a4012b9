"""Text without blanks, exchanged sides and other languages are warned of; good text is not."""

import warnings

import pytest

from structlearn import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.text.doubts import doubt_languages, doubt_whole_lines

PAIRS = [(list(one.source), list(one.target)) for one in load_corpus()]
ENGLISH = [source for source, _ in PAIRS]
FRENCH = [target for _, target in PAIRS]


@pytest.fixture(scope="module")
def aligner():
    return Aligner(random_state=0).fit(PAIRS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("我们昨天在北京见到了他的老师。", "我们 昨天 在 北京 见到 了 他 的 老师 。"),
        ("私は昨日東京で彼の先生に会いました。", "私 は 昨日 東京 で 彼 の 先生 に 会い まし た 。"),
        ("เมื่อวานนี้ฉันพบครูของเขาที่กรุงเทพ", "เมื่อวานนี้ ฉัน พบ ครู ของ เขา ที่ กรุงเทพ"),
    ],
)
def test_lines_without_blanks_are_doubted(line, words):
    english = ["yesterday", "I", "met", "his", "teacher", "there", "."]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doubt_whole_lines([(english, words.split())] * 20)
        doubt_whole_lines([(["teacher"], words.split()[1:2])] * 20)
    with pytest.warns(UserWarning, match=r"target text is written without blanks .* 1\.0 tokens per line"):
        doubt_whole_lines([(english, line.split())] * 20)
    with pytest.warns(UserWarning, match="source text is written without blanks"):
        Aligner(random_state=0).fit([(line.split(), english)] * 3)


def test_exchanged_sides_are_told_from_other_languages(aligner):
    exchanged = list(zip(FRENCH, ENGLISH))
    with pytest.warns(UserWarning, match="sides seem to be exchanged") as told:
        doubt_languages(aligner, exchanged)
    assert len(told) == 1
    with pytest.warns(UserWarning, match=r"of the source's words\. They are words of its target") as told:
        doubt_languages(aligner, list(zip(FRENCH, FRENCH)))
    assert len(told) == 1
    strange = [[word[::-1] + "x" for word in words] for words in FRENCH]
    with pytest.warns(UserWarning, match=r"does not know 100% of the target's words\. Was it") as told:
        doubt_languages(aligner, list(zip(ENGLISH, strange)))
    assert len(told) == 1


def test_the_text_itself_is_not_doubted(aligner):
    doubt_languages(aligner, PAIRS)
    doubt_languages(aligner, [([], [])])
    half = Aligner(random_state=0).fit(PAIRS[::2])
    doubt_languages(half, PAIRS[1::2])
