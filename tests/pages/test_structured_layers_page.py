"""The examples of docs/structured-layers.md run, in order, and its tables name what there is."""

import re

import numpy as np
import pytest
from blocks import ROOT, blocks

torch = pytest.importorskip("torch")

from structlearn import structures  # noqa: E402
from structlearn import torch as layers  # noqa: E402

PAGE = ROOT / "docs" / "structured-layers.md"


def test_the_examples_run():
    found = {}
    exec("".join(one.text for one in blocks(PAGE) if one.kind == "python"), found)  # noqa: S102  (our own page)
    assert torch.isfinite(found["arcs"].grad).all()
    assert found["best"].shape == (5, 2, 4, 4, 3)
    assert (np.diff(found["scores"].detach().numpy(), axis=0) <= 0).all()
    assert found["noisy"].sum(1).max() <= 1 + 1e-6


def test_the_tables_name_what_there_is():
    named = {name for name in re.findall(r"`(\w+)\(", PAGE.read_text()) if name[0].isupper()}
    public = {*layers.__all__, *structures.__all__, "Shannon", "SquaredNorm", "Zero", "LinearChainCRF"}
    assert named <= public
    assert set(layers.__all__) <= named
