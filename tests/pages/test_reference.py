"""The reference: every method of every public class has its parameters, a result and an example that runs."""

import importlib.util
import inspect
import sys

import numpy as np
import pytest
from blocks import ROOT
from sklearn.datasets import load_diabetes, load_iris

import structlearn
from structlearn import alignment, data, structures

_spec = importlib.util.spec_from_file_location("methods", ROOT / "docs" / "methods.py")
methods = importlib.util.module_from_spec(_spec)
sys.modules["methods"] = methods
_spec.loader.exec_module(methods)

CLASSES = [
    kind
    for name in structlearn.__all__
    if inspect.isclass(kind := getattr(structlearn, name)) and not issubclass(kind, Exception)
]

ROOMS = (structlearn, data, structures, alignment)


def sections(kind, name, thing):
    lines = (inspect.getdoc(thing) or "").splitlines()
    return "\n".join(methods.complete(kind, name, thing, lines))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_method_has_parameters_and_a_result(kind):
    for name, thing in methods.public_methods(kind):
        text = sections(kind, name, thing)
        assert inspect.getdoc(thing), name
        for parameter in inspect.signature(thing).parameters:
            assert parameter in ("self", "cls") or methods.is_described(parameter, text), (name, parameter)
        assert "\nReturns\n-------\n" in text or "\nYields\n------\n" in text, name
        assert "\n>>> " in text, name


def test_inherited_methods_are_there_and_plumbing_is_not():
    names = {name for name, _ in methods.public_methods(structlearn.Tagger)}
    assert {"predict_spans", "predict_sets", "fit", "tag", "save"} <= names
    assert not names & {"get_params", "set_params", "get_metadata_routing", "check_parameters"}


@pytest.mark.parametrize("module", methods.COMPLETE)
def test_functions_have_parameters(module):
    if module == "structlearn.torch":
        pytest.importorskip("torch")
    there = importlib.import_module(module)
    for name in there.__all__:
        thing = getattr(there, name)
        if inspect.isfunction(thing):
            text = sections(None, name, thing)
            for parameter in inspect.signature(thing).parameters:
                assert methods.is_described(parameter, text), (name, parameter)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # on data as small as this
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_examples_run(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {name: getattr(room, name) for room in ROOMS for name in room.__all__}
    names |= {"np": np, "load_iris": load_iris, "load_diabetes": load_diabetes}
    exec(methods.EXAMPLES[kind.__name__], names)  # noqa: S102  (our own page)
    for name, thing in methods.public_methods(kind):
        if name != "fit":
            exec(methods.example(kind, name, thing), names)  # noqa: S102
