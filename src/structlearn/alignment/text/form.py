"""How the text of a model is written: case, accents, characters. New text is written the same way.

What the training text lacks is taken out of new text: accents, upper case, compatibility characters (letters
of full width, ligatures), and of characters that look alike (' and ’, - and –) those that it does not use.
Words that stand in the training text now and then, in spite of that, are written so as well.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.text.bitext import Vocabulary, checked_pair
from structlearn.alignment.text.clean import without_accents
from structlearn.alignment.text.doubts import doubt_whole_lines
from structlearn.storage.schema import check_form

#: What at most this share of the words has, the text lacks: a stray quotation of another language counts not.
_STRAY = 1e-3
#: The form is taken from this many first pairs of a text.
_LOOKED_AT = 20_000
#: Fewer words do not tell whether a text has accents.
_ENOUGH_WORDS = 2000
#: Words that are remembered as they are written.
_REMEMBERED = 1 << 18
#: Characters that stand for each other; each group has a name.
LOOK_ALIKES = {
    "apostrophes": "'’ʼ‘`´",
    "quotation marks": '"“”„«»',
    "hyphens": "-‐‑–—−",
}
#: What a JSON header says of a form.
FORM = {"lowercase": bool, "strip_accents": bool, "compatible": bool, "characters": dict[str, str]}


class TextForm(NamedTuple):
    """How the words of one side are looked up.

    lowercase : in lower case
    strip_accents : without accents and ligatures, `é` as `e`
    compatible : in Unicode's form NFKC, which has no letters of full width; else in NFC
    characters : by which others characters are replaced
    """

    lowercase: bool = True
    strip_accents: bool = False
    compatible: bool = False
    characters: Mapping[str, str] = {}

    @classmethod
    def of(
        cls, counts: Mapping[str, int], *, lowercase: bool = True, strip_accents: bool = False
    ) -> TextForm:
        """Return the form of a text whose words occur this often; what is asked for is done in any case."""
        if not counts:
            return cls(lowercase, strip_accents)
        stray = _STRAY * sum(counts.values())
        seen = [(_compose(word), count) for word, count in counts.items() if not word.isascii()]
        accents = sum(count for word, count in seen if without_accents(word) != word)
        unusual = sum(count for word, count in seen if unicodedata.normalize("NFKC", word) != word)
        return cls(
            lowercase or all(word == word.lower() for word in counts),
            strip_accents or accents <= stray,
            unusual <= stray,
            _replacements(counts),
        )

    def write(self, word: str) -> str:
        """Return the word as it is looked up."""
        if word.isascii():
            written = word
        else:
            written = "".join(unicodedata.normalize("NFKC" if self.compatible else "NFC", word).split())
        written = written.lower() if self.lowercase else written
        written = without_accents(written) if self.strip_accents else written
        for one, other in self.characters.items():
            if one in written:
                written = written.replace(one, other)
        return written or word

    def __str__(self) -> str:
        """Return the form in words, as `info` prints it."""
        case = "lower case" if self.lowercase else "upper and lower case"
        accents = "without accents" if self.strip_accents else "with accents"
        pairs = ", ".join(f"{one} as {other}" for one, other in self.characters.items())
        form = "NFKC" if self.compatible else "NFC"
        return "; ".join(part for part in (f"{case}, {accents}, {form}", pairs) if part)


def has_accents(words: Iterable[str]) -> bool:
    """Whether one of the words has an accent."""
    return any(without_accents(word) != _compose(word) for word in words if not word.isascii())


def _compose(word: str) -> str:
    return unicodedata.normalize("NFC", word)


def _replacements(counts: Mapping[str, int]) -> dict[str, str]:
    """Map look-alike characters that the text lacks to the one of their group it has most often."""
    found: dict[str, str] = {}
    for group in LOOK_ALIKES.values():
        used: Counter[str] = Counter()
        for word, count in counts.items():
            for one in set(word).intersection(group):
                used[one] += count
        for one in group if used else ():
            if used[one] <= _STRAY * used.total():
                found[one] = max(group, key=used.__getitem__)
    return found


class FormWriter(dict[str, str]):
    """Words as a form writes them, remembered."""

    def __init__(self, form: TextForm) -> None:
        super().__init__()
        self.form = form

    def __missing__(self, word: str) -> str:
        if not isinstance(word, str):
            raise TypeError(type(word))
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = written = self.form.write(word)
        return written

    def words(self, words: Iterable[str]) -> list[str]:
        """Return all words as they are looked up."""
        return list(map(self.__getitem__, words))

    def __reduce__(self) -> tuple[type[FormWriter], tuple[TextForm]]:
        return FormWriter, (self.form,)


Forms = tuple[TextForm, TextForm]


def forms_of_text(
    text: Iterable[Words], pairs: Iterable[Words] = (), **asked: bool
) -> tuple[Forms, Iterator[Words]]:
    """Return the forms of both sides, seen in the first pairs of a text (or in `pairs` if it has none).

    The text.
    """
    stream = iter(text)
    head = list(map(checked_pair, islice(stream, _LOOKED_AT)))
    seen = head or list(map(checked_pair, islice(pairs, _LOOKED_AT)))
    doubt_whole_lines(seen)
    source, target = (Counter(word for pair in seen for word in _strings(pair[k])) for k in (0, 1))
    return (TextForm.of(source, **asked), TextForm.of(target, **asked)), chain(head, stream)


class OtherForm(ValueError):
    """Text is not written as that of the model that it would continue.

    side : "source" or "target", of the text to blame; None where the settings are
    """

    def __init__(self, side: str | None, why: str) -> None:
        self.side = side
        super().__init__(why)


def in_forms(forms: Forms, text: Iterable[Words]) -> Iterator[Words]:
    """Return the text, if its first pairs may be of these forms; OtherForm if not."""
    stream = iter(text)
    head = list(map(checked_pair, islice(stream, _LOOKED_AT)))
    doubt_whole_lines(head)
    for k, side in enumerate(("source", "target")):
        lacking = lacks(forms[k], [word for pair in head for word in _strings(pair[k])])
        if lacking:
            raise OtherForm(
                side,
                f"The {side} text has no {lacking}, but that of the continued model has: give text that is "
                "written in the same way, or train without that model.",
            )
    return chain(head, stream)


def lacks(form: TextForm, words: Sequence[str]) -> str | None:
    """Return what text of this form has, and these words lack.

    None if there is nothing or they are too few.
    """
    if len(words) <= _ENOUGH_WORDS:
        return None
    if not form.strip_accents and not has_accents(words):
        return "accents"
    return "upper case" if not form.lowercase and all(word == word.lower() for word in words) else None


def _strings(words: Iterable[str]) -> Iterator[str]:
    """Return the words as they are looked up; what is not a word is refused there."""
    return (word for word in words if isinstance(word, str))


def form_of_words(words: Vocabulary, **asked: bool) -> TextForm:
    """Return the form of the text that statistics are of, by their vocabulary."""
    return TextForm.of(dict(zip(words.words, words.counts.tolist())), **asked)


def read_form(said: Mapping[str, Any]) -> TextForm:
    """Read a form from the JSON of a model file; ValueError if it is not valid."""
    check_form(said, FORM, "the form of its text")
    form = TextForm(**said)
    if any(len(one) != 1 for one in form.characters):
        raise ValueError("the form of its text replaces something that is not one character")
    return form
