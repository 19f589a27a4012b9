"""Numbers for words: a room for those of their own, shared ones past it."""

import numpy as np
import pytest

from structlearn.alignment.text.bitext import Vocabulary
from structlearn.alignment.text.numbering import Numbering, beginning


def test_without_a_limit_every_word_has_its_number():
    numbers = Numbering()
    assert list(numbers.encode(["a", "b", "a", "c", "b"])) == [0, 1, 0, 2, 1]
    assert list(numbers) == ["a", "b", "c"]


def test_past_the_room_words_share_the_number_of_their_beginning():
    numbers = Numbering(room=16)
    first = [f"w{k}" for k in range(16)]
    assert list(numbers.encode(first)) == list(range(16))
    assert list(numbers.encode(["houses", "housing", "house"])) == [16, 16, 16]
    assert list(numbers.encode(["tree", "trees"])) == [17, 17]
    assert list(numbers.encode(["garden", "roof", "w3"])) == [18, 18, 3]  # an eighth of 16 beginnings
    assert list(numbers)[16:] == ["hous ", "tree ", " "]


def test_new_text_finds_the_shared_numbers():
    words = ["the", "hous ", "tree "]
    vocabulary = Vocabulary(words, np.ones(3))
    assert vocabulary.encode(["the", "housing", "trees", "roof"]) == [0, 1, 2, 3]
    with_rest = Vocabulary([*words, " "], np.ones(4))
    assert with_rest.encode(["roof", "housing"]) == [3, 1]
    assert vocabulary.without({"the"}).encode(["the", "houses"]) == [3, 1]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("translations", "tran"),
        ("a", "a"),
        ("", ""),
        ("a\nbcde", "a\nbc"),
        ("переводы", "пере"),
        ("한국어의", "한국어의"),
        ("翻译员", "翻"),
        ("ひらがな", "ひ"),
        ("カタカナ語", "カ"),
        ("3月", "3月"),
    ],
)
def test_words_begin_with_four_letters_or_one_character(word, expected):
    assert beginning(word) == expected
