"""Features looked up all at once are those that are read token by token."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from structlearn.estimators.inputs import token_places
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.inputs.token_places import placed_entries
from structlearn.estimators.inputs.token_reading import TokenReader

STRINGS = ["", "a", "b", "a:b", "b:", ":", "ß", "漢字", "\ud800", "x" * 500, "e\u0301", np.str_("np")]
VALUES = [*STRINGS, True, False, 1, 0, 2, -3.5, 1.0, np.float32(0.5), np.int64(7), np.bool_(True)]
FORMS: list[dict[str, Any]] = [{}, {"keep_names": False}, {"hash_bits": 6}, {"min_count": 3}]


def dicts(rng: np.random.Generator, n: int = 40) -> list[list[dict[str, Any]]]:
    def token() -> dict[str, Any]:
        return {STRINGS[j]: VALUES[rng.integers(len(VALUES))] for j in rng.integers(len(STRINGS), size=4)}

    return [[token() for _ in range(rng.integers(0, 6))] for _ in range(n)]


def lists(rng: np.random.Generator, n: int = 40) -> list[list[list[str]]]:
    return [
        [[STRINGS[j] for j in rng.integers(len(STRINGS), size=3)] for _ in range(rng.integers(0, 6))]
        for _ in range(n)
    ]


def assert_same(features: TokenFeatures, X: list[Any]) -> None:
    """What `transform` finds is what the reader of tokens finds."""
    found = features.transform(X)
    read = TokenReader().read(X)
    wanted = features._encode(read, features.places(list(read.names)))
    np.testing.assert_array_equal(found.rows.toarray(), wanted.rows.toarray())
    np.testing.assert_array_equal(found.lengths, wanted.lengths)
    assert (found.rows.dtype, found.rows.indices.dtype) == (wanted.rows.dtype, wanted.rows.indices.dtype)


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("make", [dicts, lists])
def test_all_at_once_is_one_by_one(make, options):
    rng = np.random.default_rng(0)
    features = TokenFeatures(**options)
    features.fit_transform(make(rng))
    for _ in range(5):
        X = make(rng)
        assert placed_entries(X, features._memo) is not None
        assert_same(features, X)


def test_a_memo_that_is_full_is_emptied(monkeypatch):
    monkeypatch.setattr(token_places, "MOST_KEPT", 5)
    rng = np.random.default_rng(1)
    features = TokenFeatures()
    features.fit_transform(dicts(rng))
    for _ in range(5):
        assert_same(features, dicts(rng))


@pytest.mark.parametrize(
    "X",
    [
        [[{"a": ["b", "c"]}]],
        [[{"a": {"b": 1.0}}]],
        [[{"a": ("b", "c")}]],
        [[{"a": np.ones(2)}]],
        [({"a": "b"},)],
        [[{"a", "b"}]],
        [],
        [[]],
    ],
)
def test_other_forms_are_read_token_by_token(X):
    features = TokenFeatures()
    features.fit_transform([[{"a": ["b", "c"], "d": {"b": 2.0}}, {"a": "b", "a:b": 3}]])
    assert placed_entries(X, features._memo) is None
    assert_same(features, X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[{"a": float("nan")}]], "nan as the value"),
        ([[{"a": "b"}, {1: "b"}]], "Token 1 of sentence 0 has a feature whose name is"),
        ([[["a"]], [["a"], [3]]], "Token 1 of sentence 1 has"),
        ([[["a"], {"a": "b"}]], "give all tokens in one form"),
        ([[{"a": None}]], "as the value of the feature"),
    ],
)
def test_what_is_wrong_is_said_as_before(X, message):
    features = TokenFeatures()
    features.fit_transform([[{"a": "b"}]])
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            features.transform(X)


def test_threads_share_a_memo():
    rng = np.random.default_rng(2)
    features = TokenFeatures()
    features.fit_transform(dicts(rng))
    texts = [dicts(rng) for _ in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(features.transform, texts))
    for one, X in zip(found, texts, strict=True):
        read = TokenReader().read(X)
        wanted = features._encode(read, features.places(list(read.names)))
        np.testing.assert_array_equal(one.rows.toarray(), wanted.rows.toarray())


def test_copies_have_memos_of_their_own():
    features = TokenFeatures()
    features.fit_transform([[{"a": "b"}, {"c": "d"}]])
    features.transform([[{"a": "b"}]])
    again = deepcopy(features)
    assert_same(again, [[{"a": "b"}, {"c": "d"}]])
