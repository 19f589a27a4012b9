import subprocess
import sys
from datetime import date

import numpy as np
import pytest
from sklearn.datasets import load_digits

from structlearn.data import digit_sequences, train_test_digit_sequences


def images(X):
    return {row.tobytes() for x in X for row in x}


@pytest.mark.parametrize("kind", ["dates", "counters"])
def test_images_show_the_digits_they_are_labelled_with(kind):
    X, y = digit_sequences(40, kind=kind, random_state=3)
    assert len(X) == len(y) == 40
    pixels, digits = load_digits(return_X_y=True)
    known = {row.tobytes(): digit for row, digit in zip(pixels / 16, digits)}
    for x, labels in zip(X, y):
        assert x.shape == (len(labels), 64)
        assert [known[row.tobytes()] for row in x] == labels.tolist()


def test_dates_are_valid():
    _, y = digit_sequences(400)
    days = [date.fromisoformat("".join(map(str, labels))) for labels in y]
    assert min(day.year for day in days) >= 1950
    assert max(day.year for day in days) <= 2029
    assert {day.month for day in days} == set(range(1, 13))
    assert {day.day for day in days} == set(range(1, 32))


def test_counters_count():
    _, y = digit_sequences(300, kind="counters")
    assert {len(labels) for labels in y} == set(range(5, 10))
    assert {labels[0] for labels in y} == set(range(10))
    assert all(np.array_equal(labels[1:], (labels[:-1] + 1) % 10) for labels in y)


@pytest.mark.parametrize("test_size", [0.5, 0.2])
def test_training_and_test_images_are_disjoint(test_size):
    X_train, X_test, y_train, y_test = train_test_digit_sequences(900, 300, test_size=test_size)
    assert [len(part) for part in (X_train, X_test, y_train, y_test)] == [900, 300, 900, 300]
    assert not images(X_train) & images(X_test)
    # About as many test images as asked for: nearly all are drawn at least once.
    assert len(images(X_test)) <= test_size * 1797 + 10
    assert set(np.concatenate(y_test)) == set(np.concatenate(y_train)) == set(range(10))


def test_noise_stays_in_the_unit_interval_and_leaves_labels_alone():
    clean, y = digit_sequences(30, random_state=1)
    noisy, z = digit_sequences(30, noise=0.4, random_state=1)
    assert all(np.array_equal(a, b) for a, b in zip(y, z))
    change = np.concatenate(noisy) - np.concatenate(clean)
    assert np.concatenate(noisy).min() >= 0
    assert np.concatenate(noisy).max() <= 1
    assert 0.1 < change.std() < 0.4


@pytest.mark.parametrize("function", [digit_sequences, train_test_digit_sequences])
def test_same_seed_same_sequences(function):
    first, again, other = (function(20, noise=0.1, random_state=seed)[0] for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not np.array_equal(first[0], other[0])


def test_refusals():
    with pytest.raises(ValueError, match='kind must be "dates" or "counters"; got \'times\''):
        digit_sequences(1, kind="times")
    with pytest.raises(ValueError, match="test_size must be between 0 and 1; got 1"):
        train_test_digit_sequences(1, 1, test_size=1)


def test_import_is_light():
    code = "import sys, structlearn.data; print(sorted({'sklearn', 'pandas', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
