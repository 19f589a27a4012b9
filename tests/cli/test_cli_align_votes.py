"""`align train --votes` and `align apply --votes`."""

from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.links import format_pharaoh
from structlearn.data import write_lines

PAIRS = list(load_corpus())[:60]


def test_shell(run, tmp_path):
    files = {name: tmp_path / name for name in ("e", "f", "wa", "votes", "more", "model", "out")}
    for k, name in enumerate("ef"):
        write_lines(files[name], (" ".join((one.source, one.target)[k]) for one in PAIRS))
    write_lines(files["wa"], (format_pharaoh(one.links) for one in PAIRS))
    lines = [" ".join(f"{i}-{j}:0.5" for i, j in sorted(one.links.sure)) for one in PAIRS]
    write_lines(files["votes"], lines)
    write_lines(files["more"], [*lines, "0-0"])
    text = ["--src", files["e"], "--tgt", files["f"]]
    gold = ["--gold", files["wa"], "--gold-src", files["e"], "--gold-tgt", files["f"]]
    train = ["align", "train", *text, "--regularization", "0.05", "--missed", "1.5", "--out", files["model"]]
    apply = ["align", "apply", files["model"], *text, "--out", files["out"]]
    run(*train, *gold, "--votes", files["votes"])
    run(*apply, "--votes", files["votes"])
    assert len(files["out"].read_text().splitlines()) == len(PAIRS)
    for command, said in (
        ([*train, "--votes", files["votes"]], "--votes needs gold links"),
        ([*train, *gold, "--votes", files["more"]], f"there are only {len(PAIRS)} sentence pairs"),
        (apply, "was trained with --votes of 1 other aligner"),
        ([*apply, "--votes", files["f"]], "is not a link such as 0-1"),
    ):
        assert said in run(*command, code=2).stderr
