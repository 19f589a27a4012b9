"""The examples of docs/structured-layers.md run, in order, and its tables name what there is."""

import re

import numpy as np
import pytest
from blocks import ROOT, blocks

torch = pytest.importorskip("torch")

from structlearn import structures  # noqa: E402
from structlearn import torch as layers  # noqa: E402

PAGE = ROOT / "docs" / "structured-layers.md"


def run_examples(with_jax):
    """What the examples with or without JAX leave behind."""
    texts = [one.text for one in blocks(PAGE) if one.kind == "python"]
    found = {}
    exec("".join(one for one in texts if ("import jax" in one) == with_jax), found)  # noqa: S102  (our own page)
    return found


def test_the_examples_run():
    found = run_examples(with_jax=False)
    assert torch.isfinite(found["arcs"].grad).all()
    assert found["best"].shape == (5, 2, 4, 4, 3)
    assert (np.diff(found["scores"].detach().numpy(), axis=0) <= 0).all()
    assert found["noisy"].sum(1).max() <= 1 + 1e-6


def test_the_example_of_jax_runs():
    pytest.importorskip("jax")
    found = run_examples(with_jax=True)
    assert found["slope"].shape == (2, 4, 3)
    assert (found["slope"][1, 3] == 0).all()  # beyond the length
    np.testing.assert_allclose(found["slope"][0].sum(axis=1), 0.0, atol=1e-6)


def test_the_tables_name_what_there_is():
    named = {name for name in re.findall(r"`(\w+)\(", PAGE.read_text()) if name[0].isupper()}
    public = {*layers.__all__, *structures.__all__, "Shannon", "SquaredNorm", "Zero", "LinearChainCRF"}
    assert named <= public
    assert set(layers.__all__) <= named
