"""The examples of docs/neural.md run, in order: those of Python and the commands, which need PyTorch."""

import re

import pytest
from blocks import ROOT, blocks, commands, shell
from stand_ins import write_stand_ins

pytest.importorskip("torch")

PAGE = ROOT / "docs" / "neural.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {}
    exec("".join(one.text for one in blocks(PAGE) if one.kind == "python"), found)  # noqa: S102  (our own page)
    assert 0 <= found["chain"].certificate_.gap <= 0.01
    assert found["both"].chain_.n_features_in_ > found["states"][0].shape[1]


def test_the_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_stand_ins(tmp_path)
    (text,) = re.findall(r"```\{code-block\} console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in commands(text):
        shell(f"{line} --epochs 1" if "train" in line else line, tmp_path)
