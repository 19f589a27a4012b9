import doctest
import inspect
import warnings

import pytest

import structlearn
from structlearn.core.help_texts import entries, names, with_inherited

ESTIMATORS = [
    thing
    for thing in (getattr(structlearn, name) for name in structlearn.__all__)
    if isinstance(thing, type) and hasattr(thing, "fit")
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_help_spells_out_every_parameter_once(estimator):
    known = entries(inspect.getdoc(estimator))
    described = [name.strip() for key in known for name in key.split(",")]
    assert len(described) == len(set(described))
    assert set(inspect.signature(estimator).parameters) <= set(described)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_examples_in_help_texts_run(estimator):
    (found,) = doctest.DocTestFinder(recurse=False).find(estimator, estimator.__name__, globs={})
    assert found.examples
    runner = doctest.DocTestRunner()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runner.run(found)
    assert not runner.failures


def test_own_words_win_over_inherited_ones_and_come_first():
    class Base:
        """Shared.

        Parameters
        ----------
        a, b : float
            Two.

            With a table.
        c : int
        """

    Base.__module__ = "structlearn.test"

    class Derived(Base):
        """Mine.

        Parameters
        ----------
        d : str
        c : float
            Other words.

        Attributes
        ----------
        e : int
        """

    text = with_inherited(Derived)
    found = entries(text)
    assert list(found) == ["d", "c", "a, b"]
    assert found["c"] == "c : float\n    Other words."
    assert found["a, b"].endswith("Two.\n\n    With a table.")
    assert text.endswith("Attributes\n----------\ne : int")
    assert names(found) == {"a", "b", "c", "d"}
